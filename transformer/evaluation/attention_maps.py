"""Where the decoder looks: cross-attention weights of a given translation.

Shapes: S source length, T target length, H heads, E head width, N decoder layers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.model.attention import TorchAttention, attention_weights, split_heads
from transformer.model.transformer import Transformer


class RecordingAttention(TorchAttention):
    """PyTorch's attention that keeps the weights of each cross-attention, layer by layer."""

    def __init__(self, num_heads: int) -> None:
        super().__init__(num_heads)
        self.weights: list[Tensor] = []  # float32 [B, H, T, S] each

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
        if key.dim() == 4:  # projected once, by the decoder: the source
            self.weights.append(attention_weights(split_heads(query, self.num_heads), key, mask))
        return super().attend(query, key, value, mask, is_causal=is_causal, dropout=dropout)


@torch.no_grad()
def cross_attention(model: Transformer, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Cross-attention weights (2017, equation 1, the softmax), averaged over heads.

    The model's own decoder runs once over the whole target. Fused attention keeps no weights, so a
    backend is handed in that computes them beside it.

    Args:
        model: in evaluation mode.
        source: ids with the end token.
        target: the decoder's input ids: the start token, then the translation.

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
    recording = RecordingAttention(model.config.num_heads)
    model = model.with_attention(recording)
    memory = model.encode(torch.tensor([source], device=device), None)  # [1, S, D]
    model.decode(torch.tensor([target], device=device), memory, None)
    return torch.cat(recording.weights).mean(dim=1).cpu()  # [N, T, S]
