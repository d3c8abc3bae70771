"""Cross-entropy with label smoothing, on real target positions only.

Shapes: N real target positions, D d_model, V target vocabulary.

With smoothing e, logits z and label y, the loss of a position is

    log sum_v exp z_v - (1 - e) z_y - (e / V) sum_v z_v

which is the cross-entropy against (1 - e) one-hot(y) + e / V (Szegedy et al. 2015, section 7;
what `torch.nn.functional.cross_entropy` computes). Sums are returned, never means: the caller
divides by the number of tokens of the whole optimizer step.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# Logits held at once: fewer make products too small for full speed, more only take memory.
_CHUNK_LOGITS_CPU = 1 << 23
_CHUNK_LOGITS_GPU = 1 << 28


class TargetScores(NamedTuple):
    """Sums over positions, as tensors without dimensions, on the device of the hidden states."""

    negative_log_likelihood: Tensor  # in nats, without smoothing
    num_correct: Tensor  # positions whose best token is the label


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, label_smoothing: float
) -> Tensor:
    """The summed loss of `hidden @ weight.T + bias`, with gradients for the first three.

    Projection, softmax and their gradients are computed chunk by chunk of rows, so that logits
    are neither kept for the backward pass nor passed over more than needed. Under autocast the
    products run in its dtype, the rest in float32.

    Args:
        hidden: [N, D].
        weight: [V, D].
        bias: [V], or None.
        labels: int64 [N].
        label_smoothing: e above, in [0, 1).

    Returns:
        The sum over the N positions, in nats: float32 without dimensions.
    """
    loss: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, labels, label_smoothing
    )
    return loss


def plain_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, label_smoothing: float
) -> Tensor:
    """`smoothed_cross_entropy` in PyTorch's own operations, for a compiler to fuse.

    All logits, [N, V], are kept for the backward pass, under autocast in its dtype.
    """
    logits = F.linear(hidden, weight, bias).float()
    return F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)


def consistent_cross_entropy(
    hidden: Tensor,
    other: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    label_smoothing: float,
    strength: float,
) -> Tensor:
    """The loss of R-Drop (Liang et al. 2021, arXiv:2106.14448), halved.

    The mean of two passes' losses, plus `strength` / 4 times the divergence of each prediction
    from the other, KL(p || q) + KL(q || p). Logits are made again for the backward pass.

    Args:
        hidden: [N, D], of one pass; the other arguments are as in `smoothed_cross_entropy`.
        other: [N, D], of the same batch under other dropout masks.
        weight: [V, D].
        bias: [V], or None.
        labels: int64 [N].
        label_smoothing: in [0, 1).
        strength: alpha in the paper.

    Returns:
        The sum over the N positions, in nats: float32 without dimensions.
    """

    def of(hidden: Tensor, other: Tensor, labels: Tensor) -> Tensor:
        logs = [F.linear(states, weight, bias).float().log_softmax(1) for states in (hidden, other)]
        losses = [
            F.cross_entropy(log, labels, reduction="sum", label_smoothing=label_smoothing)
            for log in logs
        ]
        divergence = ((logs[0].exp() - logs[1].exp()) * (logs[0] - logs[1])).sum()
        return (losses[0] + losses[1]) / 2 + strength / 4 * divergence

    total = torch.zeros((), device=hidden.device)
    for rows in _chunks(hidden, 2 * weight.shape[0]):
        states = hidden[rows], other[rows], labels[rows]
        total = total + checkpoint(of, *states, use_reentrant=False, preserve_rng_state=False)
    return total


@torch.no_grad()
def score_targets(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor
) -> TargetScores:
    """Negative log-likelihood and hits of the labels; arguments as in `smoothed_cross_entropy`."""
    total = torch.zeros((), dtype=torch.float64, device=hidden.device)
    hits = torch.zeros((), dtype=torch.int64, device=hidden.device)
    dtype = _product_dtype(hidden)
    weight = weight.to(dtype)
    with torch.autocast(hidden.device.type, enabled=False):
        for rows in _chunks(hidden, weight.shape[0]):
            logits = _logits(hidden[rows].to(dtype), weight, bias)
            picked = logits.gather(1, labels[rows].unsqueeze(1)).squeeze(1)
            total += (logits.logsumexp(1) - picked).sum()
            hits += (logits.argmax(1) == labels[rows]).sum()
    return TargetScores(total, hits)


class _LinearCrossEntropy(torch.autograd.Function):
    """The gradients are made in the forward pass, while each chunk's softmax is in cache."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        label_smoothing: float,
    ) -> Tensor:
        vocab_size = weight.shape[0]
        dtype = _product_dtype(hidden)
        needs_gradient = any(ctx.needs_input_grad)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight)
        bias_gradient = None if bias is None else torch.zeros_like(bias)
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        with torch.autocast(hidden.device.type, enabled=False):
            product_weight = weight.to(dtype)
            # Smoothing pulls towards the mean logit, which needs no pass over the logits.
            mean_weight = weight.float().mean(0)  # [D]
            mean_bias = 0.0 if bias is None else bias.float().mean()
            for rows in _chunks(hidden, vocab_size):
                rows_hidden, rows_labels = hidden[rows], labels[rows].unsqueeze(1)
                product_hidden = rows_hidden.to(dtype)
                logits = _logits(product_hidden, product_weight, bias)  # [n, V]
                picked = logits.gather(1, rows_labels).squeeze(1)
                mean = rows_hidden.float() @ mean_weight + mean_bias
                highest = logits.amax(1)
                softmax = torch.softmax(logits, 1, out=logits)
                # The highest probability is exp(highest - log-sum-exp).
                log_sum = highest - softmax.amax(1).log()
                total += (log_sum - (1 - label_smoothing) * picked - label_smoothing * mean).sum()
                if not needs_gradient:
                    continue
                one_hot = torch.full_like(picked, label_smoothing - 1).unsqueeze(1)
                slope = softmax.scatter_add_(1, rows_labels, one_hot)
                if bias_gradient is not None:
                    bias_gradient += slope.sum(0)
                slope = slope.to(dtype)
                rows_gradient = (slope @ product_weight).float()
                hidden_gradient[rows] = rows_gradient.sub_(mean_weight, alpha=label_smoothing)
                if dtype == weight.dtype:
                    weight_gradient.addmm_(slope.T, product_hidden)
                else:
                    weight_gradient += slope.T @ product_hidden
            if needs_gradient:
                share = label_smoothing / vocab_size
                weight_gradient -= share * hidden.float().sum(0)
                if bias_gradient is not None:
                    bias_gradient -= share * hidden.shape[0]
        if needs_gradient:
            ctx.save_for_backward(hidden_gradient, weight_gradient, bias_gradient)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        hidden, weight, bias = ctx.saved_tensors
        scale = upstream[0]
        bias_gradient = None if bias is None else bias * scale
        return hidden * scale.to(hidden.dtype), weight * scale, bias_gradient, None, None


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    logits = (hidden @ weight.T).float()
    return logits if bias is None else logits.add_(bias)


def _product_dtype(hidden: Tensor) -> torch.dtype:
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return hidden.dtype


def _chunks(hidden: Tensor, vocab_size: int) -> list[slice]:
    limit = _CHUNK_LOGITS_CPU if hidden.device.type == "cpu" else _CHUNK_LOGITS_GPU
    size = max(1, limit // vocab_size)
    return [slice(start, start + size) for start in range(0, hidden.shape[0], size)]
