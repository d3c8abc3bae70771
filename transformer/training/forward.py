"""From a batch to its loss: what a training step and a validation compute of a model.

Shapes: B sentences of a batch, T target length, N labels, D d_model.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.training.batching import Batch
from transformer.training.loss import (
    TargetScores,
    consistent_cross_entropy,
    plain_cross_entropy,
    score_targets,
    smoothed_cross_entropy,
)

# Model and batch -> a hidden state for each label, [N, D].
Forward = Callable[[Transformer, Batch], Tensor]
# Model and batch -> the summed loss, and the hidden states that it is made of, [N, D].
Loss = Callable[[Transformer, Batch], tuple[Tensor, Tensor]]


def hidden_states(model: Transformer, batch: Batch) -> Tensor:
    """The decoder's output at real target positions, [N, D], row by row."""
    memory = model.encode(batch.source, batch.source_mask)
    hidden = model.decode(batch.target, memory, batch.source_mask).flatten(0, 1)  # [B * T, D]
    return hidden.index_select(0, batch.label_positions)


def make_loss(
    forward: Forward,
    label_smoothing: float,
    *,
    r_drop: float = 0.0,
    is_compiled: bool,
    is_plain: bool = False,
) -> Loss:
    """The loss whose gradient a step follows.

    Args:
        forward: the way through the model.
        label_smoothing: as in `smoothed_cross_entropy`.
        r_drop: above 0, a second pass is made, by `consistent_cross_entropy`.
        is_compiled: by `torch.compile`, when it is first called.
        is_plain: by `plain_cross_entropy`, compiled with the rest.
    """
    cross_entropy = plain_cross_entropy if is_plain else smoothed_cross_entropy
    if is_compiled and not is_plain:
        # The usual loss makes its gradients in the forward pass, which no compiler follows.
        forward = torch.compile(forward, dynamic=True)

    def loss(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
        hidden = forward(model, batch)
        weight, bias = model.output_projection.weight, model.output_projection.bias
        if r_drop:
            both = hidden, forward(model, batch)
            value = consistent_cross_entropy(
                *both, weight, bias, batch.labels, label_smoothing, r_drop
            )
            return value, hidden
        return cross_entropy(hidden, weight, bias, batch.labels, label_smoothing), hidden

    return torch.compile(loss, dynamic=True) if is_compiled and is_plain else loss


def score_batch(model: Transformer, hidden: Tensor, batch: Batch) -> TargetScores:
    """What the model makes of a batch's labels; `hidden` [N, D] is the forward pass's."""
    weight, bias = model.output_projection.weight, model.output_projection.bias
    return score_targets(hidden, weight, bias, batch.labels)
