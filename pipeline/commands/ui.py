"""`ui`: the MLflow interface on this project's runs."""

import os
import socket
import sys
from typing import Annotated

import typer

from transformer.urls import hide_secrets

HOST = "127.0.0.1"


def ui(port: Annotated[int, typer.Option(help="Where to listen, on this machine.")] = 5000) -> None:
    """Compare runs in MLflow's browser interface."""
    from pipeline.experiments.browser_view import set_up_pages
    from pipeline.tracking.backend import first_line, prepare_database, require_client

    uri, artifacts = prepare_database()
    client = require_client()
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        pages = set_up_pages(client)
    except (MlflowException, SQLAlchemyError) as error:
        raise ValueError(
            f"MLflow can't read {hide_secrets(uri)}: {first_line(error)}; if the "
            "database is damaged, move it aside: `python -m pipeline sync` records in a new one "
            "what is here"
        ) from None
    if uri.startswith(("http://", "https://")):
        typer.echo(
            f"MLFLOW_TRACKING_URI names a server, which has pages of its own: {hide_secrets(uri)}"
        )
        _print_pages(uri, pages)
        return
    _check_port(port)
    url = f"http://{HOST}:{port}"
    typer.echo(f"MLflow on {url}, reading {hide_secrets(uri)}; Ctrl-C ends it", err=True)
    _print_pages(url, pages)
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    arguments = ["ui", "--backend-store-uri", uri, "--workers", "1", "--host", HOST]
    arguments += ["--port", str(port)]
    if artifacts is not None:
        arguments += ["--default-artifact-root", artifacts]
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *arguments])


def _print_pages(url: str, pages: dict[str, dict[str, str]]) -> None:
    place = hide_secrets(url).rstrip("/")
    for name, links in pages.items():
        for what, page in links.items():
            typer.echo(f"  {name}, {what}: {place}/{page}", err=True)
    if not pages:
        typer.echo("  no runs yet: `dvc repro` makes the first", err=True)


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise ValueError(
                f"--port {port}: can't listen there ({error}); end what does, or take another, "
                f"such as --port {port + 1}"
            ) from None
