"""Weights rounded as a narrower graph would hold them, until graphs of these precisions exist."""

import copy

import torch
from torch import Tensor

from transformer.export.config import Precision
from transformer.model.transformer import Transformer


@torch.no_grad()
def rounded(model: Transformer, precision: Precision) -> Transformer:
    """A float32 model whose matrices hold what int8 per output channel, or float16, can hold.

    The model itself for float32; it is not changed.
    """
    if precision == "float32":
        return model
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.copy_(_to_int8(parameter) if precision == "int8" else parameter.half())
    return model


def _to_int8(weight: Tensor) -> Tensor:
    scale = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
    return (weight / scale).round() * scale
