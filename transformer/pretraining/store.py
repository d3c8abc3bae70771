"""What pretraining leaves for `train`: a manifest, and weights if it is switched on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.files import (
    atomic_folder,
    atomic_write,
    check_sha256,
    read_sealed,
    sha256_file,
    write_sealed,
)
from transformer.model.weights import save_tensors
from transformer.pretraining.config import ImportedModel
from transformer.text.tokenizer import Tokenizer, TokenizerPair

MANIFEST = "manifest.json"
WEIGHTS = "model.safetensors"
# In the manifest, the SHA-256 of `WEIGHTS`.
WEIGHTS_SHA256 = "weights_sha256"


class Pretrained(NamedTuple):
    """Weights by name, and the tokenizer that their ids belong to."""

    weights: dict[str, Tensor]
    tokenizer_sha256: str
    is_imported: bool = False  # a whole model's


def save_pretrained(folder: Path, weights: Mapping[str, Tensor], manifest: dict[str, Any]) -> None:
    """Writes both, in one move; the same weights give the same bytes."""
    with atomic_folder(folder) as temporary:
        sha256 = _save_weights(temporary / WEIGHTS, weights)
        write_sealed(temporary / MANIFEST, manifest | {WEIGHTS_SHA256: sha256})


def save_imported(
    folder: Path,
    weights: Mapping[str, Tensor],
    tokenizers: Mapping[str, Tokenizer],
    tokenizer_sha256: str,
    origin: Mapping[str, str | None],
) -> None:
    """Puts an imported model in the place of an older one; other files there stay.

    Args:
        folder: data/imported.
        weights: of the model.
        tokenizers: of its sides, by file name.
        tokenizer_sha256: of the pair.
        origin: the fields of `ImportedModel` but for the kind.
    """
    (folder / MANIFEST).unlink(missing_ok=True)  # what follows has none until it is whole
    for path in folder.glob("*.json"):
        path.unlink()
    for name, tokenizer in tokenizers.items():
        tokenizer.save(folder / name)
    with atomic_write(folder / WEIGHTS) as temporary:
        sha256 = _save_weights(temporary, weights)
    manifest = {"kind": "imported", "tokenizer_sha256": tokenizer_sha256, WEIGHTS_SHA256: sha256}
    write_sealed(folder / MANIFEST, {**manifest, **origin})


def load_pretrained(folder: Path) -> Pretrained:
    """Reads what `save_pretrained` wrote.

    Raises:
        ValueError: pretraining was switched off or did not run, or its weights are damaged.
    """
    manifest = read_sealed(folder / MANIFEST, "pretrain")
    if manifest.get("kind") == "none":
        raise ValueError(
            f"{folder} holds no weights, since pretrain.kind = 'none', but "
            "train.initialize_from = 'pretrained' asks for them; switch pretraining on, or set "
            "train.initialize_from to null"
        )
    check_sha256(folder / WEIGHTS, str(manifest.get(WEIGHTS_SHA256)), "pretrain")
    try:
        weights, sha256 = load_file(folder / WEIGHTS), str(manifest["tokenizer_sha256"])
        return Pretrained(weights, sha256, manifest.get("kind") == "imported")
    except (SafetensorError, OSError, KeyError) as error:
        raise ValueError(
            f"{folder} is damaged ({error}); run the stage `pretrain` again"
        ) from error


def hand_on_imported(
    folder: Path, pretrained: Path, tokenizer: Path, config: ImportedModel
) -> None:
    """Writes what `save_pretrained` would have, of an imported model.

    Raises:
        ValueError: no model, or another one, was imported there; or it goes with other tokenizers.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{path}: no such file; run `python -m pipeline import` to make it")
    manifest = read_sealed(path, "import")
    wanted = config.model_dump()
    if found := {key: manifest.get(key) for key in wanted if manifest.get(key) != wanted[key]}:
        raise ValueError(
            f"{folder} is not the model of params.yaml: "
            + ", ".join(f"{key} = {value!r}, not {wanted[key]!r}" for key, value in found.items())
            + "; run `python -m pipeline import` again"
        )
    weights, sha256, _ = load_pretrained(folder)
    if TokenizerPair.load(tokenizer).sha256 != sha256:
        raise ValueError(
            f"{tokenizer} is not the tokenizer of {folder}: set vocab.source and vocab.target to "
            "the files that `python -m pipeline import` named, and run the stage `vocab` again"
        )
    save_pretrained(pretrained, weights, manifest)


def _save_weights(path: Path, weights: Mapping[str, Tensor]) -> str:
    """Their file's SHA-256."""
    plain = {name: value.float().cpu().contiguous() for name, value in weights.items()}
    save_tensors(path, plain)
    return sha256_file(path)
