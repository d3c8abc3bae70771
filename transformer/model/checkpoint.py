"""Trained weights with what is needed to use them, as a folder."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ConfigDict
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.config import parse_section
from transformer.files import atomic_folder, check_sha256, read_sealed, sha256_file, write_sealed
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.model.weights import model_weights, save_tensors, set_weights
from transformer.text.special_tokens import SpecialIds
from transformer.text.tokenizer import TokenizerPair

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
# Beside the model in `config.json`, the SHA-256 of `WEIGHTS`.
WEIGHTS_SHA256 = "weights_sha256"


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says of its model, in `config.json`."""

    model: ModelConfig
    source_vocab_size: int
    target_vocab_size: int
    source: SpecialIds
    target: SpecialIds
    tokenizer_sha256: str

    __pydantic_config__ = ConfigDict(extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {
            "model": self.model.model_dump(),
            "source": self.source._asdict(),
            "target": self.target._asdict(),
        }


def save_checkpoint(folder: Path, model: Transformer, info: CheckpointInfo) -> None:
    """Writes both files, in one move; the same model gives the same bytes.

    Shared weights are stored once, all as float32.
    """
    weights = {k: v.float().cpu().contiguous() for k, v in model_weights(model).items()}
    with atomic_folder(folder) as temporary:
        save_tensors(temporary / WEIGHTS, weights)
        sha256 = sha256_file(temporary / WEIGHTS)
        write_sealed(temporary / CONFIG, info.to_json() | {WEIGHTS_SHA256: sha256})


def load_checkpoint(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, CheckpointInfo]:
    """The model, in eval mode on `device`, and what goes with it.

    Raises:
        ValueError: a file is missing, damaged, edited, or does not fit the other one.
    """
    info, weights_sha256 = _read_config(folder / CONFIG)
    weights = _read_weights(folder / WEIGHTS, weights_sha256)
    model = Transformer(info.model, info.source_vocab_size, info.target_vocab_size)
    _check_fit(folder, model_weights(model), weights)
    set_weights(model, weights)
    return model.to(device).eval(), info


def load_with_tokenizers(
    folder: Path, tokenizer: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, CheckpointInfo, TokenizerPair]:
    """`load_checkpoint`, and the tokenizers that belong to it.

    Raises:
        ValueError: as there, or the model was trained with other tokenizers.
    """
    model, info = load_checkpoint(folder, device)
    tokenizers = TokenizerPair.load(tokenizer)
    if tokenizers.sha256 != info.tokenizer_sha256:
        raise ValueError(
            f"{tokenizer} is not the tokenizer that {folder} was trained with; "
            "restore both with `dvc checkout`, or run the stage `train` again"
        )
    return model, info, tokenizers


def model_hash(folder: Path) -> str:
    """What names the model in tracking: SHA-256 over the hashes of both files, in hexadecimal.

    Raises:
        ValueError: a file is missing.
    """
    digest = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise ValueError(
                f"{folder / name}: no such file; run the stage `train` to make {folder}"
            )
        digest.update(sha256_file(folder / name).encode())
    return digest.hexdigest()


def _read_config(path: Path) -> tuple[CheckpointInfo, str]:
    values = read_sealed(path, "train")
    weights_sha256 = str(values.pop(WEIGHTS_SHA256, None))
    info, problems = parse_section(CheckpointInfo, "checkpoint", values)
    if info is None:
        raise ValueError(
            f"{path} has another form than this version writes ({'; '.join(problems)}); "
            "run the stage `train` again, or use the version that wrote it"
        )
    return info, weights_sha256


def _read_weights(path: Path, sha256: str) -> dict[str, Tensor]:
    check_sha256(path, sha256, "train")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); restore it with `dvc checkout`, or run `train` again"
        ) from error


def _check_fit(folder: Path, wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    problems = [f"{name} is missing" for name in wanted if name not in found]
    problems += [f"{name} is unknown" for name in found if name not in wanted]
    problems += [
        f"{name} is {list(found[name].shape)}, not {list(value.shape)}"
        for name, value in wanted.items()
        if name in found and found[name].shape != value.shape
    ]
    if problems:
        shown = "; ".join(problems[:5]) + ("; …" if len(problems) > 5 else "")
        raise ValueError(
            f"{folder}: {WEIGHTS} does not fit {CONFIG}: {shown}; the two come from different "
            "runs, restore both with `dvc checkout`, or run `train` again"
        )
