"""`serve`: exported translators over HTTP."""

import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from pipeline.paths import TRANSLATOR
from transformer.serving.http.limits import Limits

_LIMITS = Limits()
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="A translator's folder, or a folder of those; may be repeated.",
            show_default=str(TRANSLATOR),
        ),
    ] = None,
    registry: Annotated[
        bool,
        typer.Option("--registry", help="The champion of MLflow's registry, in place of --model."),
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0: everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    keys: Annotated[
        Path | None, typer.Option(help="A file of API keys; without one anybody may ask.")
    ] = None,
    new_key: Annotated[
        str | None,
        typer.Option(help="Make a key of this name, add it to --keys, print it, and end."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="A web site whose pages may ask (CORS), such as https://example.org."),
    ] = None,
    max_characters: Annotated[int, typer.Option(min=1, help="Of a request.")] = (
        _LIMITS.max_characters
    ),
    deadline_seconds: Annotated[
        float, typer.Option(min=0.1, help="After so long a request is given up.")
    ] = _LIMITS.deadline_seconds,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="auto takes CUDA where it works.")
    ] = "auto",
    precision: Annotated[
        Literal["auto", "float32", "int8", "float16"],
        typer.Option(help="float32: the same answer whatever else is translated meanwhile."),
    ] = "auto",
    num_workers: Annotated[
        int | None, typer.Option(min=1, help="Batches side by side.", show_default="one per core")
    ] = None,
    cache_entries: Annotated[
        int, typer.Option(min=0, help="Sentences whose translations are kept; 0: none.")
    ] = _LIMITS.cache_entries,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Log requests' bodies.")] = False,
) -> None:
    """Translate over HTTP: see docs/serving.md, and /openapi.json."""
    if new_key is not None:
        _add_key(keys, new_key)
        return
    if registry and model:
        raise typer.BadParameter("serves no --model besides", param_hint="--registry")
    try:
        from transformer.serving.http.app import make_app
        from transformer.serving.http.page import ROUTES
        from transformer.serving.http.server import serve as serve_app
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{error.name} is missing: pip install -c constraints.txt -e '.[serve]'"
        ) from None
    from transformer.serving.http.catalog import Catalog, load_catalog
    from transformer.serving.http.keys import Keys
    from transformer.serving.http.service import Service

    if keys is None and host not in _LOOPBACK:
        typer.echo(
            f"warning: {host} can be reached from elsewhere, and without --keys anybody may ask",
            err=True,
        )
    limits = Limits(
        max_characters=max_characters,
        deadline_seconds=deadline_seconds,
        cache_entries=cache_entries,
    )

    def load(known: Catalog | None) -> Catalog:
        if not registry:
            return load_catalog(model or [TRANSLATOR], device, precision, known)
        from pipeline.tracking.promotion import fetch_champion

        with TemporaryDirectory() as folder:  # what is open needs no file any more
            return load_catalog([fetch_champion(Path(folder))], device, precision)

    if hasattr(signal, "SIGHUP"):  # what asks for a reload ends nothing before there is a service
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    service = Service(load, lambda: Keys(keys), limits, num_workers)
    app = make_app(service, allow_origin or (), log_texts, ROUTES)
    told = f"http://{host}:{port} translates {', '.join(service.catalog.by_name)}"
    serve_app(app, host, port, limits, lambda: typer.echo(told, err=True))


def _add_key(keys: Path | None, name: str) -> None:
    from transformer.serving.http.keys import Keys, make_key

    if keys is None:
        raise typer.BadParameter("needs --keys FILE", param_hint="--new-key")
    key, line = make_key(name)
    if keys.exists() and name in Keys(keys).names:
        raise ValueError(f"{keys} has a key named {name!r}; take another name, or remove its line")
    with keys.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    keys.chmod(0o600)
    typer.echo(key)
