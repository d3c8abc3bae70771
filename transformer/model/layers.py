"""One encoder layer and one decoder layer, with the norm before, after, or nowhere.

Shapes: B batch, S source length, T target length, W beams, D d_model, H heads, E = D / H.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.attention import MultiHeadAttention
from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout
from transformer.model.norm import DeviationNorm


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at every position (2017, eq. 2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.linear1 = nn.Linear(config.d_model, config.d_ff)
        self.linear2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = F.relu if config.activation == "relu" else F.gelu

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        return self.linear2(self.activation(self.linear1(x)))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """x + dropout(sublayer(x)), normalised before the sublayer, after the sum, or not at all.

    The result has the dtype of x, also where autocast has norms computed in float32.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.is_pre = config.norm == "pre"
        self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[..., D] -> [..., D]."""
        if self.is_pre:
            return self.dropout.add(x, sublayer(self.norm(x)))
        return self.norm(self.dropout.add(x, sublayer(x))).to(x.dtype)  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            config.d_model, config.num_heads, config.attention_dropout
        )
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [B, S, D], mask bool [B, 1, 1, S] or None -> [B, S, D]."""
        attention = self.self_attention
        x = self.self_attention_residual(
            x, lambda x: attention.attend(*attention.project(x), mask=mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Causal self-attention, attention over the encoder's output, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            config.d_model, config.num_heads, config.attention_dropout
        )
        self.cross_attention = MultiHeadAttention(
            config.d_model, config.num_heads, config.attention_dropout
        )
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """All positions at once, for training.

        Args:
            x: [B, T, D].
            memory: the encoder's output, [B, S, D].
            memory_mask: bool [B, 1, 1, S], True at real tokens, or None where all are real.

        Returns:
            [B, T, D].
        """
        attention, cross = self.self_attention, self.cross_attention
        x = self.self_attention_residual(
            x, lambda x: attention.attend(*attention.project(x), is_causal=True)
        )
        x = self.cross_attention_residual(
            x,
            lambda x: cross.attend(
                cross.project_query(x), *cross.project_key_value(memory), mask=memory_mask
            ),
        )
        return self.feed_forward_residual(x, self.feed_forward)  # type: ignore[no-any-return]

    def step(
        self,
        x: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        cross_key: Tensor,
        cross_value: Tensor,
        memory_mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One new position for each of W beams of B sentences.

        The cross keys and values stay at one row per sentence: the beams stand in their
        query-length axis, so they are neither copied nor reordered.

        Args:
            x: [B, W, D].
            past_key: earlier self-attention keys, [B * W, H, T, E]; T may be 0.
            past_value: likewise values.
            cross_key: [B, H, S, E].
            cross_value: [B, H, S, E].
            memory_mask: as in `forward`.

        Returns:
            The output [B, W, D], and keys and values with the new position, [B * W, H, T + 1, E].
        """
        attention, cross = self.self_attention, self.cross_attention
        keys, values = past_key, past_value

        def attend_to_past(x: Tensor) -> Tensor:
            nonlocal keys, values
            query, key, value = attention.project(x.flatten(0, 1).unsqueeze(1))  # [BW, H, 1, E]
            keys = torch.cat([past_key, key], dim=2)
            values = torch.cat([past_value, value], dim=2)
            return attention.attend(query, keys, values).view(x.shape)

        x = self.self_attention_residual(x, attend_to_past)
        x = self.cross_attention_residual(
            x,
            lambda x: cross.attend(
                cross.project_query(x), cross_key, cross_value, mask=memory_mask
            ),
        )
        return self.feed_forward_residual(x, self.feed_forward), keys, values


def make_norm(config: ModelConfig) -> nn.Module:
    """Layer norm with scale and bias, or the identity where the config asks for none."""
    if config.norm == "none":
        return nn.Identity()
    if config.layer_norm_variant == "unbiased":
        return DeviationNorm(config.d_model, config.norm_epsilon)
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
