"""Other forms of a training step's computation, equal but for rounding.

Which of them a GPU is quickest with is for `benchmarks.gpu` to measure; until then all are off.
Each is written in PyTorch's own operations, for `torch.compile` to fuse.
"""

from typing import NamedTuple

import torch

from transformer.model.attention import TorchAttention
from transformer.model.embedding import Embedding
from transformer.model.transformer import Transformer


class Variants(NamedTuple):
    """What differs from the usual form."""

    explicit_length: int = 0  # keys up to which attention is `explicit_attention`
    plain_loss: bool = False  # `plain_cross_entropy`, compiled with the rest
    narrow_residual: bool = False  # the residual stream has the dtype of the matrix products


def use_variants(model: Transformer, variants: Variants, precision: torch.dtype) -> None:
    """Has a model compute in these forms, in place; `precision` is that of its matrix products."""
    model.attention = TorchAttention(model.config.num_heads, variants.explicit_length)
    for module in model.modules():
        if isinstance(module, Embedding):
            module.dtype = precision if variants.narrow_residual else None
