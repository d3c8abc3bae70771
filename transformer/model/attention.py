"""Multi-head scaled dot-product attention.

Shapes: B batch, H heads, Q query length, K key length, D d_model, E = D / H head width.
Masks are boolean, broadcast to [B, H, Q, K]; True means that the key may be attended to.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    """Attention with H heads over d_model features (2017, section 3.2.2), biases included.

    The projections are separate methods because a decoder with a cache projects keys and values
    once and queries at every step.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        # Up to so many keys attention is computed in the formula's own steps; 0: never.
        self.explicit_length = 0
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[B, L, D] -> queries, keys, values [B, H, L, E] of the same sequence, in one product."""
        query, key, value = self.in_proj(x).chunk(3, dim=-1)
        return self._split(query), self._split(key), self._split(value)

    def project_query(self, x: Tensor) -> Tensor:
        """[B, Q, D] -> queries [B, H, Q, E]."""
        d_model = x.shape[-1]
        weight, bias = self.in_proj.weight[:d_model], self.in_proj.bias[:d_model]
        return self._split(F.linear(x, weight, bias))

    def project_key_value(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """[B, K, D] -> keys and values [B, H, K, E]."""
        d_model = memory.shape[-1]
        weight, bias = self.in_proj.weight[d_model:], self.in_proj.bias[d_model:]
        key, value = F.linear(memory, weight, bias).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """softmax(query keyᵀ / sqrt(E)) value, heads joined and projected.

        Args:
            query: [B, H, Q, E].
            key: [B, H, K, E].
            value: [B, H, K, E].
            mask: bool, broadcast to [B, H, Q, K]; True may be attended to; None means all.
            is_causal: let query q see keys 0..q only; not together with a mask.

        Returns:
            [B, Q, D].
        """
        is_explicit = self.explicit_length > 0 and key.shape[2] <= self.explicit_length
        attention = explicit_attention if is_explicit else scaled_dot_product_attention
        dropout = self.dropout if self.training else 0.0
        context = attention(query, key, value, mask, is_causal, dropout)  # [B, H, Q, E]
        return self.out_proj(context.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _split(self, x: Tensor) -> Tensor:
        # [B, L, D] -> [B, H, L, E]
        return x.view(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    dropout: float,
) -> Tensor:
    """PyTorch's fused attention (2017, equation 1). Shapes as in `MultiHeadAttention.attend`.

    A row whose mask is False everywhere has no defined weights; callers keep one key visible.
    """
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=is_causal, dropout_p=dropout
    )


def explicit_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    dropout: float,
) -> Tensor:
    """`scaled_dot_product_attention` in the formula's own steps, for a compiler to fuse.

    Fused kernels work on tiles of 128 keys, so that most of a sentence's tile is empty.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [B, H, Q, K]
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.nn.functional.dropout(scores.float().softmax(-1), dropout)
    return weights.to(value.dtype) @ value
