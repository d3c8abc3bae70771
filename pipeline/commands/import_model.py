"""`import`: a model that is there already, MarianMT's or one of this kind, to use or train on."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from transformer.model.checkpoint import CheckpointInfo
    from transformer.model.transformer import Transformer
    from transformer.text.tokenizer import TokenizerPair


class _Found(NamedTuple):
    """A model, and what params say of it beside its shape."""

    model: "Transformer"
    info: "CheckpointInfo"
    tokenizers: "TokenizerPair"
    name: str
    revision: str | None
    license: str | None
    recipe: str
    params: dict[str, Any]


def import_model(
    model: Annotated[
        str,
        typer.Argument(
            help="A MarianMT folder, an id on the Hub, the folder of a trained project, or "
            "models:/NAME@ALIAS of the registry."
        ),
    ],
    revision: Annotated[
        str | None, typer.Option(help="Of a Hub id: a commit, tag or branch.")
    ] = None,
    model_license: Annotated[
        str | None, typer.Option("--license", help="The model's, where it names none.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of params.yaml."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite params.yaml edited by hand.")] = False,
) -> None:
    """Read a finished model: params.yaml, data/imported, models/tokenizer, models/checkpoint."""
    from pipeline.finished_model import is_finished
    from pipeline.paths import CHECKPOINT, IMPORTED, PARAMS, TOKENIZER
    from pipeline.recipes import make_params, write_params
    from transformer.files import atomic_folder
    from transformer.model.checkpoint import save_checkpoint
    from transformer.model.weights import model_weights
    from transformer.pretraining.store import save_imported

    if is_finished(model):
        if revision is not None:
            raise ValueError(f"--revision goes with a Hub id; {model} is what it is")
        found = _read_own(model)
    else:
        found = _read_marian(model, revision)
    license_name = model_license or found.license
    if license_name is None:
        raise ValueError(
            f"{model}: its README.md names no license; tell it with --license, or 'unknown'"
        )
    pair = found.tokenizers
    if pair.is_joint:
        sides = {"joint": pair.source}
    else:
        sides = {"source": pair.source, "target": pair.target}
    files = {side: f"{side}-{one.sha256[:8]}.json" for side, one in sides.items()}
    vocab: dict[str, Any] = dict.fromkeys(("joint", "source", "target"))
    vocab |= {
        side: {"kind": "pretrained", "name": str(IMPORTED / file), "revision": None}
        for side, file in files.items()
    }
    values = {
        "vocab": vocab,
        **{f"model.{key}": value for key, value in found.info.model.model_dump().items()},
        "tokenize.max_tokens": found.info.model.max_positions,
        **found.params,
        "pretrain.name": found.name,
        "pretrain.revision": found.revision,
        "pretrain.license": license_name,
    }
    told = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    write_params(PARAMS, make_params(found.recipe, [*told, *(changes or [])]), force=force)
    save_imported(
        IMPORTED,
        model_weights(found.model),
        {file: sides[side] for side, file in files.items()},
        found.info.tokenizer_sha256,
        {"name": found.name, "revision": found.revision, "license": license_name},
    )
    with atomic_folder(TOKENIZER) as temporary:
        found.tokenizers.save(temporary)
    save_checkpoint(CHECKPOINT, found.model, found.info)
    typer.echo(
        f"{found.name}: {found.model.num_parameters():,} parameters -> {CHECKPOINT}, {TOKENIZER}\n"
        f"Wrote {PARAMS}: recipe {found.recipe}. `dvc repro` runs it on the corpus there."
    )


def _read_marian(model: str, revision: str | None) -> _Found:
    from transformer.marian.folder import find_folder, read_folder

    folder = find_folder(model, revision)
    typer.echo(f"reading {folder}")
    found = read_folder(folder)
    name = folder.resolve().name if Path(model).is_dir() else model
    params: dict[str, Any] = {f"search.{key}": value for key, value in found.search.items()}
    params |= {
        f"corpus.{side}_language": language
        for side, language in found.languages.items()
        if re.fullmatch("[a-z]{2,3}", language)
    }
    return _Found(
        found.model, found.info, found.tokenizers, name, revision, found.license, "marian", params
    )


def _read_own(model: str) -> _Found:
    from pipeline.finished_model import read_finished

    found = read_finished(model)
    corpus, clean = found.params["corpus"], found.params["clean"]
    params = {
        "corpus.source_language": corpus["source_language"],
        "corpus.target_language": corpus["target_language"],
        # As the text was that the model knows; what is dropped of it is the corpus's business.
        "clean.source": clean["source"],
        "clean.target": clean["target"],
        "tokenize.max_tokens": found.params["tokenize"]["max_tokens"],
        "search": found.params["search"],
    }
    license_name = corpus.get("license") or "; ".join(
        f"{name}: {part['license']}" for name, part in corpus["parts"].items()
    )
    parts = found.model, found.info, found.tokenizers, found.name
    return _Found(*parts, None, license_name, "fine-tune", params)
