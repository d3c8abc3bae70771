"""Attention as the exported graph computes it: backends of `transformer.model.attention`.

Two forms that give the same numbers: `FusedAttention` uses onnxruntime's own operator,
`PortableAttention` only operators that every ONNX runtime has. Both take queries that were divided
by the root of the head width: `scale_queries`. Shapes as in the protocol.
"""

import math

import torch
from torch import Tensor, nn
from torch.onnx import ops

from transformer.model.attention import MultiHeadAttention, TorchAttention
from transformer.model.positions import Rotation


@torch.no_grad()
def scale_queries(model: nn.Module, num_heads: int) -> None:
    """Divides the queries of all attentions by the root of the head width, in their weights.

    A product of one row with a factor of its own misses the kernel for one row.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            factor = math.sqrt(num_heads / module.d_model)
            module.in_proj.weight[: module.d_model] *= factor
            module.in_proj.bias[: module.d_model] *= factor


class FusedAttention:
    """`com.microsoft.MultiHeadAttention`: one node per attention, the cache's growth within."""

    def __init__(self, num_heads: int) -> None:
        self.num_heads = num_heads

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: int32 [B, S], 1 at real tokens."""
        return is_real.to(torch.int32)

    def rotate(self, x: Tensor, rotation: Rotation) -> Tensor:
        """As in `Attention`."""
        places = rotation.places.expand(x.shape[0], x.shape[1])  # [B, L]
        return ops.symbolic(  # type: ignore[no-any-return]
            "com.microsoft::RotaryEmbedding",
            [x, places, rotation.cos, rotation.sin],
            {"interleaved": 1},
            dtype=x.dtype,
            shape=list(x.shape),
            version=1,
        )

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        is_causal: bool = False,
        dropout: float = 0.0,
    ) -> Tensor:
        """As in `Attention`; in the graph nothing is causal, and there is no dropout."""
        assert not is_causal, "this operator has no causal form here"
        return ops.symbolic(  # type: ignore[no-any-return]
            "com.microsoft::MultiHeadAttention",
            [query, key, value, None, mask],
            {"num_heads": self.num_heads, "scale": 1.0},
            dtype=query.dtype,
            shape=list(query.shape),
            version=1,
        )

    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        ancestry: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As in `Attention`."""
        batch, heads, past, width = past_key.shape
        grown = [batch, heads, past + query.shape[1], width]
        context, keys, values = ops.symbolic_multi_out(
            "com.microsoft::MultiHeadAttention",
            [query, key, value, None, None, ancestry, past_key, past_value],
            {"num_heads": self.num_heads, "scale": 1.0},
            dtypes=[query.dtype] * 3,
            shapes=[list(query.shape), grown, grown],
            version=1,
        )
        return context, keys, values


class PortableAttention(TorchAttention):
    """Products and a softmax."""

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: [B, 1, 1, S] of the type, 0 at real tokens, else -inf."""
        return torch.where(is_real, 0.0, -torch.inf)[:, None, None].to(dtype)

    def weigh(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        dropout: float,
    ) -> Tensor:
        """As in `TorchAttention`; in the graph nothing is causal, and there is no dropout."""
        assert not is_causal, "this form has no causal mask"
        scores = query @ key.transpose(2, 3)  # [B, H, Q, S]
        return torch.softmax(scores if mask is None else scores + mask, dim=-1) @ value
