"""Attention as the exported graph computes it.

Shapes: B batch, W beams, L length, S source length, P = T * W positions of all beams so far,
H heads, D d_model, E = D / H.

Two forms that give the same numbers: `FusedAttention` uses onnxruntime's own operator,
`PortableAttention` only operators that every ONNX runtime has. Both take the projections as
`[..., D]`.
"""

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.onnx import ops


class Attention(Protocol):
    """Scaled dot-product attention of the encoder, of a decoding step, and across the two."""

    num_heads: int

    def mask(self, source_mask: Tensor, dtype: torch.dtype) -> Tensor:
        """bool [B, S], True at real tokens -> the form that the methods below take."""
        ...

    def encode(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """[B, S, D] each -> [B, S, D]."""
        ...

    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        reach: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A step of all beams.

        Args:
            query: [B, W, D].
            key: likewise.
            value: likewise.
            past_key: [B, H, P, E], of all beams at all steps before.
            past_value: likewise.
            reach: float [B, 1, W, P + W], 0 where a beam's own past and present are, else -inf;
                None for a single beam, to which all of it belongs.

        Returns:
            [B, W, D] and the longer past, [B, H, P + W, E] twice.
        """
        ...

    def cross(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Query [B, W, D], key and value [B, H, S, E] -> [B, W, D]."""
        ...


class FusedAttention:
    """`com.microsoft.MultiHeadAttention`: one node per attention, the cache's growth within."""

    def __init__(self, num_heads: int) -> None:
        self.num_heads = num_heads

    def mask(self, source_mask: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: int32 [B, S], 1 at real tokens."""
        return source_mask.to(torch.int32)

    def encode(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """As in `Attention`."""
        return self._attend([query, key, value, None, mask], query)

    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        reach: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As in `Attention`."""
        batch, heads, past, width = past_key.shape
        grown = [batch, heads, past + query.shape[1], width]
        context, keys, values = ops.symbolic_multi_out(
            "com.microsoft::MultiHeadAttention",
            [query, key, value, None, None, reach, past_key, past_value],
            {"num_heads": self.num_heads},
            dtypes=[query.dtype] * 3,
            shapes=[list(query.shape), grown, grown],
            version=1,
        )
        return context, keys, values

    def cross(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
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

    def mask(self, source_mask: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: [B, 1, 1, S] of the type, 0 at real tokens, else -inf."""
        return torch.where(source_mask, 0.0, -torch.inf)[:, None, None].to(dtype)

    def encode(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """As in `Attention`."""
        return self.cross(query, split_heads(key, self.num_heads), self._split(value), mask)

    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        reach: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As in `Attention`."""
        keys = torch.cat([past_key, self._split(key)], dim=2)
        values = torch.cat([past_value, self._split(value)], dim=2)
        return self._attend(query, keys, values, reach), keys, values

    def cross(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """As in `Attention`."""
        return self._attend(query, key, value, mask)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scale = 1 / math.sqrt(key.shape[-1])
        scores = (self._split(query) * scale) @ key.transpose(2, 3)  # [B, H, L, S]
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
        return (weights @ value).transpose(1, 2).flatten(2)

    def _split(self, x: Tensor) -> Tensor:
        return split_heads(x, self.num_heads)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[B, L, D] -> [B, H, L, E]."""
    batch, length, width = x.shape
    return x.reshape(batch, length, num_heads, width // num_heads).transpose(1, 2)
