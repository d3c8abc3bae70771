"""Multi-head attention: its weights, and the backends that compute it.

The weights stand in `MultiHeadAttention`, once. What attends is a backend: `TorchAttention` here,
those of the exported graph in `transformer.export.attention`, one that keeps the weights of
attention in `transformer.evaluation.attention_maps`.

Shapes: B batch, L length, Q query length, S source length, W beams, P positions of all beams so far
(T * W after T steps), H heads, D d_model, E = D / H head width.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.positions import Rotation, rotate


class Attention(Protocol):
    """softmax(query keyᵀ / sqrt(E)) value for H heads (2017, section 3.2), without projections."""

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """bool [B, S], True at real tokens -> the form that this backend's methods take."""
        ...

    def rotate(self, x: Tensor, rotation: Rotation) -> Tensor:
        """Turns queries or keys, or both side by side: [B, L, n * E] -> the same shape."""
        ...

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
        """Attention of all queries at once.

        A row whose mask shows nothing has no defined weights; callers keep one key visible.

        Args:
            query: [B, Q, D].
            key: [B, S, D]; or [B, H, S, E], where it is used again and again.
            value: likewise.
            mask: as `mask` gives it; None shows everything.
            is_causal: let query q see keys 0..q only; without a mask.
            dropout: the rate, of the attention weights.

        Returns:
            [B, Q, D].
        """
        ...

    def step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        ancestry: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One new position of all beams to what they descend from.

        Args:
            query: [B, W, D].
            key: likewise.
            value: likewise.
            past_key: [B, H, P, E], of all beams at all steps before.
            past_value: likewise.
            ancestry: [B, 1, W, P + W], 0 where a beam's own past and present are, else -inf;
                None for a single beam, to which all of it belongs.

        Returns:
            [B, W, D] and the longer past, [B, H, P + W, E] twice.
        """
        ...


class MultiHeadAttention(nn.Module):
    """The projections of attention with H heads over d_model features, biases included.

    Queries, keys and values of one sequence come from one product.
    """

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.rate = dropout
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        attention: Attention,
        mask: Tensor | None = None,
        rotation: Rotation | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """A sequence to itself, [B, L, D] -> [B, L, D]; the mask is the backend's."""
        query, key, value = self._project(x, attention, rotation)
        context = attention.attend(
            query, key, value, mask, is_causal=is_causal, dropout=self._dropout
        )
        return self.out_proj(context)  # type: ignore[no-any-return]

    def step(
        self,
        x: Tensor,
        attention: Attention,
        past_key: Tensor,
        past_value: Tensor,
        ancestry: Tensor | None,
        rotation: Rotation | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One new position of W beams, [B, W, D]; arguments and results as `Attention.step`."""
        query, key, value = self._project(x, attention, rotation)
        context, keys, values = attention.step(query, key, value, past_key, past_value, ancestry)
        return self.out_proj(context), keys, values

    def project_memory(self, memory: Tensor, num_heads: int) -> tuple[Tensor, Tensor]:
        """The encoder's output [B, S, D] -> keys and values [B, H, S, E], for `cross`."""
        weight, bias = self.in_proj.weight[self.d_model :], self.in_proj.bias[self.d_model :]
        key, value = F.linear(memory, weight, bias).chunk(2, dim=-1)
        return split_heads(key, num_heads), split_heads(value, num_heads)

    def cross(
        self, x: Tensor, attention: Attention, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        """[B, Q, D] to what `project_memory` gave -> [B, Q, D]."""
        weight, bias = self.in_proj.weight[: self.d_model], self.in_proj.bias[: self.d_model]
        query = F.linear(x, weight, bias)
        context = attention.attend(query, key, value, mask, dropout=self._dropout)
        return self.out_proj(context)  # type: ignore[no-any-return]

    def _project(
        self, x: Tensor, attention: Attention, rotation: Rotation | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of a sequence, [B, L, D] each."""
        projected = self.in_proj(x)
        if rotation is None:
            query, key, value = projected.chunk(3, dim=-1)
        else:
            both, value = projected.split([2 * self.d_model, self.d_model], dim=-1)
            query, key = attention.rotate(both, rotation).chunk(2, dim=-1)
        return query, key, value

    @property
    def _dropout(self) -> float:
        return self.rate if self.training else 0.0


class TorchAttention:
    """PyTorch's fused attention; with few keys, if asked for, the formula's own steps.

    `explicit_length` is the most keys for which attention is computed step by step, for a compiler
    to fuse: fused kernels work on tiles of 128 keys, so that most of a sentence's tile is empty.
    """

    def __init__(self, num_heads: int, explicit_length: int = 0) -> None:
        self.num_heads, self.explicit_length = num_heads, explicit_length

    def mask(self, is_real: Tensor, dtype: torch.dtype) -> Tensor:
        """As in `Attention`: bool [B, 1, 1, S]."""
        return is_real[:, None, None, :]

    def rotate(self, x: Tensor, rotation: Rotation) -> Tensor:
        """As in `Attention`."""
        return rotate(x, rotation)

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
        """As in `Attention`."""
        query, key, value = (split_heads(x, self.num_heads) for x in (query, key, value))
        return join_heads(self.weigh(query, key, value, mask, is_causal, dropout))

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
        keys = torch.cat([past_key, split_heads(key, self.num_heads)], dim=2)
        values = torch.cat([past_value, split_heads(value, self.num_heads)], dim=2)
        query = split_heads(query, self.num_heads)
        return join_heads(self.weigh(query, keys, values, ancestry, False, 0.0)), keys, values

    def weigh(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        dropout: float,
    ) -> Tensor:
        """The formula itself: query [B, H, Q, E], key and value [B, H, S, E] -> [B, H, Q, E].

        A mask that is not boolean is added to what the softmax is taken of.
        """
        if key.shape[2] <= self.explicit_length:
            return explicit_attention(query, key, value, mask, is_causal, dropout)
        return F.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal)


def explicit_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    dropout: float,
) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention` in the formula's own steps.

    Args:
        query: [B, H, Q, E].
        key: [B, H, K, E].
        value: likewise.
        mask: broadcast to [B, H, Q, K]; bool, True may be attended to, or a number that is added to
            what the softmax is taken of; None means all.
        is_causal: let query q see keys 0..q only.
        dropout: rate, of the attention weights.
    """
    weights = attention_weights(query, key, mask, is_causal)
    return F.dropout(weights, dropout).to(value.dtype) @ value


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool = False
) -> Tensor:
    """softmax(query keyᵀ / sqrt(E)), float32 [B, H, Q, K]; arguments as `explicit_attention`."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [B, H, Q, K]
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    if mask is not None:
        is_bool = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -math.inf) if is_bool else scores + mask
    return scores.float().softmax(-1)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[B, L, D] -> [B, H, L, E]; what is split already stays."""
    if x.dim() == 4:
        return x
    batch, length, width = x.shape
    return x.reshape(batch, length, num_heads, width // num_heads).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """[B, H, L, E] -> [B, L, D]."""
    return x.transpose(1, 2).flatten(2)
