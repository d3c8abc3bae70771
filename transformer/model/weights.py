"""A model's trained tensors by name."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

Weights = dict[str, Tensor]


def model_weights(model: nn.Module) -> Weights:
    """The trained tensors by name; shared ones once, under their first name. Not copies."""
    return {name: value.detach() for name, value in model.named_parameters()}


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes a safetensors file that others may read. Raises OSError, such as on a full disk."""
    try:
        save_file(dict(tensors), path)
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error
    path.chmod(0o644)  # safetensors lets nobody else read it


@torch.no_grad()
def set_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies `weights`, named as in `model_weights`, into the model."""
    for name, value in model.named_parameters():
        value.copy_(weights[name])
