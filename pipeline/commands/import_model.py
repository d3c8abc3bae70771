"""`import`: a MarianMT model as this project's own."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer


def import_model(
    model: Annotated[str, typer.Argument(help="A MarianMT folder, or an id on the Hub.")],
    revision: Annotated[
        str | None, typer.Option(help="Of a Hub id: a commit, tag or branch.")
    ] = None,
    model_license: Annotated[
        str | None, typer.Option("--license", help="The model's, where its README has none.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of params.yaml."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite params.yaml edited by hand.")] = False,
) -> None:
    """Read a MarianMT model: params.yaml, data/imported, models/tokenizer, models/checkpoint."""
    from pipeline.paths import CHECKPOINT, IMPORTED, PARAMS, TOKENIZER
    from pipeline.recipes import make_params, write_params
    from transformer.files import atomic_folder
    from transformer.marian.folder import find_folder, read_folder
    from transformer.model.checkpoint import save_checkpoint
    from transformer.model.weights import model_weights
    from transformer.pretraining.store import save_imported

    folder = find_folder(model, revision)
    typer.echo(f"reading {folder}")
    found = read_folder(folder)
    license_name = model_license or found.license
    if license_name is None:
        raise ValueError(
            f"{model}: its README.md names no license; tell it with --license, or 'unknown'"
        )
    name = folder.resolve().name if Path(model).is_dir() else model
    files = {
        side: f"{side}-{tokenizer.sha256[:8]}.json"
        for side, tokenizer in (
            ("source", found.tokenizers.source),
            ("target", found.tokenizers.target),
        )
    }
    values = {
        **{f"vocab.{side}.name": str(IMPORTED / file) for side, file in files.items()},
        **{f"model.{key}": value for key, value in found.info.model.model_dump().items()},
        "tokenize.max_tokens": found.info.model.max_positions,
        **{f"search.{key}": value for key, value in found.search.items()},
        **{
            f"corpus.{side}_language": language
            for side, language in found.languages.items()
            if re.fullmatch("[a-z]{2,3}", language)
        },
        "pretrain.name": name,
        "pretrain.revision": revision,
        "pretrain.license": license_name,
    }
    text = make_params("marian", [*(_change(*item) for item in values.items()), *(changes or [])])
    write_params(PARAMS, text, force=force)
    save_imported(
        IMPORTED,
        model_weights(found.model),
        {file: getattr(found.tokenizers, side) for side, file in files.items()},
        found.info.tokenizer_sha256,
        {"name": name, "revision": revision, "license": license_name},
    )
    with atomic_folder(TOKENIZER) as temporary:
        found.tokenizers.save(temporary)
    save_checkpoint(CHECKPOINT, found.model, found.info)
    typer.echo(
        f"{name}: {found.model.num_parameters():,} parameters -> {CHECKPOINT}, {TOKENIZER}\n"
        f"Wrote {PARAMS}: recipe marian. `dvc repro` evaluates and exports it on the corpus there."
    )


def _change(key: str, value: object) -> str:
    return f"{key}={json.dumps(value)}"
