"""Where the decoder looks: cross-attention weights of a given translation.

Shapes: S source length, T target length, H heads, E head width, N decoder layers.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from transformer.model.layers import DecoderLayer
from transformer.model.transformer import Transformer


@torch.no_grad()
def cross_attention(model: Transformer, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Cross-attention weights (2017, equation 1, the softmax), averaged over heads.

    The model's own decoder runs once over the whole target. Its fused attention keeps no weights,
    so each layer's queries are observed and the weights are computed from the projections.

    Args:
        model: in evaluation mode.
        source: ids with the end mark.
        target: the decoder's input ids: the start mark, then the translation.

    Returns:
        float32 [N, T, S] on the CPU. Row t tells where the layer looks while it predicts the
        token that follows `target[t]`; each row sums to 1.

    Raises:
        ValueError: source or target is empty.
    """
    if not source or not target:
        raise ValueError(
            f"attention needs tokens on both sides, not {len(source)} source and "
            f"{len(target)} target tokens"
        )
    device = next(model.parameters()).device
    memory = model.encode(torch.tensor([source], device=device), None)  # [1, S, D]
    observed: list[Tensor] = []  # per layer, the input of its query projection: [1, T, D]

    def observe(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        x, sublayer = arguments

        def observed_sublayer(x: Tensor, sublayer: Callable[[Tensor], Tensor] = sublayer) -> Tensor:
            observed.append(x)
            return sublayer(x)

        return x, observed_sublayer

    layers = [cast(DecoderLayer, layer) for layer in model.decoder]
    hooks = [layer.cross_attention_residual.register_forward_pre_hook(observe) for layer in layers]
    try:
        model.decode(torch.tensor([target], device=device), memory, None)
    finally:
        for hook in hooks:
            hook.remove()
    maps = []
    for layer, x in zip(layers, observed, strict=True):
        query = layer.cross_attention.project_query(x)  # [1, H, T, E]
        key, _ = layer.cross_attention.project_key_value(memory)  # [1, H, S, E]
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [1, H, T, S]
        maps.append(scores.float().softmax(dim=-1).mean(dim=1).squeeze(0))  # [T, S]
    return torch.stack(maps).cpu()
