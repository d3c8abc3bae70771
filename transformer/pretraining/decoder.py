"""The decoder on its own, for causal language modelling (Radford et al. 2018).

Shapes: B batch, T target length, D d_model.
"""

from functools import partial
from typing import cast

from torch import Tensor

from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import DecoderLayer
from transformer.model.transformer import Transformer


def decode_alone(model: Transformer, target: Tensor) -> Tensor:
    """The decoder's hidden states without a source: each layer leaves out what attends to one.

    Target int64 [B, T], shifted right -> [B, T, D]; position t sees `target[:, : t + 1]`.
    """
    x = model.target_embedding(target)
    for layer in cast(list[DecoderLayer], list(model.decoder)):
        x = layer.self_attention_residual(x, partial(_attend_causally, layer.self_attention))
        x = layer.feed_forward_residual(x, layer.feed_forward)
    return cast(Tensor, model.decoder_norm(x))


def _attend_causally(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    return attention.attend(*attention.project(x), is_causal=True)
