"""One encoder layer and one decoder layer, with the norm before, after, or nowhere.

Shapes: B batch, S source length, T target length, W beams, P = T * W positions of all beams so far,
D d_model, H heads, E = D / H.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.attention import Attention, MultiHeadAttention
from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout
from transformer.model.norm import DeviationNorm
from transformer.model.positions import Rotation

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at every position (2017, eq. 2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.linear1 = nn.Linear(config.d_model, config.d_ff)
        self.linear2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        return self.linear2(self.activation(self.linear1(x)))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """x + dropout(sublayer(x)), normalized before the sublayer, after the sum, or not at all.

    A sublayer's input is `before(x)`, the sum `after(x, output)`. The sum has the dtype of x, also
    where autocast has norms computed in float32.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.is_pre = config.norm == "pre"
        self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)

    def before(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D], what the sublayer reads."""
        return self.norm(x) if self.is_pre else x

    def after(self, x: Tensor, output: Tensor) -> Tensor:
        """x and the sublayer's output, [..., D] each -> [..., D]."""
        total = self.dropout.add(x, output)
        return total if self.is_pre else self.norm(total).to(x.dtype)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.attention_dropout)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        attention: Attention,
        mask: Tensor | None,
        rotation: Rotation | None = None,
    ) -> Tensor:
        """x [B, S, D], the backend's mask or None where all tokens are real -> [B, S, D]."""
        residual = self.self_attention_residual
        x = residual.after(x, self.self_attention(residual.before(x), attention, mask, rotation))
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))


class LayerCross(NamedTuple):
    """The encoder's output as one decoder layer reads it."""

    key: Tensor  # [B, H, S, E]
    value: Tensor  # [B, H, S, E]
    mask: Tensor | None  # the backend's


class LayerPast(NamedTuple):
    """What one decoder layer keeps of the positions before, as `Attention.step` takes it."""

    key: Tensor  # [B, H, P, E]
    value: Tensor  # [B, H, P, E]
    ancestry: Tensor | None  # [B, 1, W, P + W]


class DecoderLayer(nn.Module):
    """Self-attention to what came before, attention to the encoder's output, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.attention_dropout)
        self.cross_attention = MultiHeadAttention(config.d_model, config.attention_dropout)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        attention: Attention,
        cross: LayerCross | None,
        past: LayerPast | None = None,
        rotation: Rotation | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """All positions at once, or one new position of W beams.

        Args:
            x: [B, T, D] without a past, else [B, W, D].
            attention: what attends.
            cross: the encoder's output as this layer reads it; None leaves it out.
            past: of the positions before; None: x is the whole sequence, and each position sees
                those before it.
            rotation: of the positions of x, where they are told by turns.

        Returns:
            The output, shaped as x, and keys and values with the new position.
        """
        residual = self.self_attention_residual
        longer = None
        if past is None:
            output = self.self_attention(
                residual.before(x), attention, rotation=rotation, is_causal=True
            )
        else:
            output, key, value = self.self_attention.step(
                residual.before(x), attention, *past, rotation
            )
            longer = key, value
        x = residual.after(x, output)
        if cross is not None:
            residual = self.cross_attention_residual
            x = residual.after(x, self.cross_attention.cross(residual.before(x), attention, *cross))
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x))), longer


def make_norm(config: ModelConfig) -> nn.Module:
    """Layer norm with scale and bias, or the identity where the config asks for none."""
    if config.norm == "none":
        return nn.Identity()
    if config.layer_norm_variant == "unbiased":
        return DeviationNorm(config.d_model, config.norm_epsilon)
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
