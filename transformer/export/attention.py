"""Attention as the exported graph computes it: backends of `transformer.model.attention`.

Two forms that give the same numbers: `FusedAttention` uses onnxruntime's own operator,
`PortableAttention` only operators that every ONNX runtime has. Shapes as in the protocol.
"""

import math

import torch
from torch import Tensor
from torch.onnx import ops

from transformer.model.attention import join_heads, split_heads


class FusedAttention:
    """`com.microsoft.MultiHeadAttention`: one node per attention, the cache's growth within."""

    def __init__(self, num_heads: int) -> None:
        self.num_heads = num_heads

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: int32 [B, S], 1 at real tokens."""
        return is_real.to(torch.int32)

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
        """As in `Attention`; of an encoder, so never causal, and without dropout."""
        return self._attend([query, key, value, None, mask], query)

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
            {"num_heads": self.num_heads},
            dtypes=[query.dtype] * 3,
            shapes=[list(query.shape), grown, grown],
            version=1,
        )
        return context, keys, values

    def cross(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        dropout: float = 0.0,
    ) -> Tensor:
        """As in `Attention`."""
        return self._attend([query, key, value, None, mask], query)

    def _attend(self, inputs: list[Tensor | None], query: Tensor) -> Tensor:
        return ops.symbolic(  # type: ignore[no-any-return]
            "com.microsoft::MultiHeadAttention",
            inputs,
            {"num_heads": self.num_heads},
            dtype=query.dtype,
            shape=list(query.shape),
            version=1,
        )


class PortableAttention:
    """Products and a softmax."""

    def __init__(self, num_heads: int) -> None:
        self.num_heads = num_heads

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: [B, 1, 1, S] of the type, 0 at real tokens, else -inf."""
        return torch.where(is_real, 0.0, -torch.inf)[:, None, None].to(dtype)

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
        """As in `Attention`; of an encoder, so never causal, and without dropout."""
        return self._attend(query, self._split(key), self._split(value), mask)

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
        keys = torch.cat([past_key, self._split(key)], dim=2)
        values = torch.cat([past_value, self._split(value)], dim=2)
        return self._attend(query, keys, values, ancestry), keys, values

    def cross(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        dropout: float = 0.0,
    ) -> Tensor:
        """As in `Attention`."""
        return self._attend(query, key, value, mask)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scale = 1 / math.sqrt(key.shape[-1])
        scores = (self._split(query) * scale) @ key.transpose(2, 3)  # [B, H, L, S]
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
        return join_heads(weights @ value)

    def _split(self, x: Tensor) -> Tensor:
        return split_heads(x, self.num_heads)
