"""What pretraining leaves for `train`: a manifest, and weights if it is switched on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.files import atomic_folder, check_sha256, read_sealed, sha256_file, write_sealed
from transformer.model.weights import save_tensors

MANIFEST = "manifest.json"
WEIGHTS = "model.safetensors"
# In the manifest, the SHA-256 of `WEIGHTS`.
WEIGHTS_SHA256 = "weights_sha256"


class Pretrained(NamedTuple):
    """Weights by name, and the tokenizer that their ids belong to."""

    weights: dict[str, Tensor]
    tokenizer_sha256: str


def save_pretrained(folder: Path, weights: Mapping[str, Tensor], manifest: dict[str, Any]) -> None:
    """Writes both, in one move; the same weights give the same bytes."""
    with atomic_folder(folder) as temporary:
        plain = {name: value.float().cpu().contiguous() for name, value in weights.items()}
        save_tensors(temporary / WEIGHTS, plain)
        sha256 = sha256_file(temporary / WEIGHTS)
        write_sealed(temporary / MANIFEST, manifest | {WEIGHTS_SHA256: sha256})


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
        return Pretrained(load_file(folder / WEIGHTS), str(manifest["tokenizer_sha256"]))
    except (SafetensorError, OSError, KeyError) as error:
        raise ValueError(
            f"{folder} is damaged ({error}); run the stage `pretrain` again"
        ) from error
