"""A model's trained tensors by name."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


def model_weights(model: nn.Module) -> Weights:
    """The trained tensors by name; shared ones once, under their first name. Not copies."""
    return {name: value.detach() for name, value in model.named_parameters()}


@torch.no_grad()
def set_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies `weights`, named as in `model_weights`, into the model."""
    for name, value in model.named_parameters():
        value.copy_(weights[name])
