"""A model that this project, or another of its kind, has trained, to be trained on."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.params import read_params
from pipeline.paths import CHECKPOINT, PARAMS, TOKENIZER
from transformer.model.checkpoint import CheckpointInfo, load_with_tokenizers
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import TokenizerPair

# What a project, or a version of the registry, has of one.
PARTS = (PARAMS, TOKENIZER, CHECKPOINT)


class FinishedModel(NamedTuple):
    """Weights, tokenizers, and the sections of params that go with them."""

    model: Transformer
    info: CheckpointInfo
    tokenizers: TokenizerPair
    params: dict[str, Any]
    name: str


def is_finished(model: str) -> bool:
    """Whether this names a project's folder or a version of the registry, not a MarianMT model."""
    return model.startswith("models:") or (Path(model) / CHECKPOINT).is_dir()


def read_finished(model: str) -> FinishedModel:
    """Reads `models/checkpoint`, `models/tokenizer` and `params.yaml`.

    Args:
        model: a project's folder, or `models:/NAME/VERSION`, `models:/NAME@ALIAS`.

    Raises:
        ValueError: something is missing, damaged, or from different trainings: what, by name.
    """
    with _fetched(model) as (folder, name):
        if missing := [str(path) for path in PARTS if not (folder / path).exists()]:
            raise ValueError(f"{model}: {', '.join(missing)} missing; a trained project has them")
        loaded = load_with_tokenizers(folder / CHECKPOINT, folder / TOKENIZER)
        return FinishedModel(*loaded, params=read_params(folder / PARAMS), name=name)


@contextmanager
def _fetched(model: str) -> Iterator[tuple[Path, str]]:
    if not model.startswith("models:"):
        yield Path(model), Path(model).resolve().name
        return
    from pipeline.tracking.kept_checkpoint import fetch_checkpoint

    with tempfile.TemporaryDirectory() as temporary:
        name = fetch_checkpoint(model, Path(temporary))
        yield Path(temporary), name
