import pytest
import torch
from torch.nn import functional as F

from transformer.training import loss as objective
from transformer.training.loss import (
    consistent_cross_entropy,
    score_targets,
    smoothed_cross_entropy,
)


def inputs(has_bias=True, rows=13, width=6, vocab_size=11, dtype=torch.float64):
    torch.manual_seed(0)
    hidden = torch.randn(rows, width, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocab_size, width, dtype=dtype, requires_grad=True)
    bias = torch.randn(vocab_size, dtype=dtype, requires_grad=True) if has_bias else None
    return hidden, weight, bias, torch.randint(vocab_size, (rows,))


def with_gradients(loss, *leaves):
    return loss, *torch.autograd.grad(3.0 * loss, [leaf for leaf in leaves if leaf is not None])


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("chunk_logits", [1, 44, 1 << 20])
def test_loss_with_gradients_equals_pytorchs(label_smoothing, has_bias, chunk_logits, monkeypatch):
    monkeypatch.setattr(objective, "_CHUNK_LOGITS_CPU", chunk_logits)
    hidden, weight, bias, labels = inputs(has_bias)
    logits = F.linear(hidden, weight, bias)
    wanted = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)
    ours = smoothed_cross_entropy(hidden, weight, bias, labels, label_smoothing)
    pairs = zip(
        with_gradients(ours, hidden, weight, bias),
        with_gradients(wanted, hidden, weight, bias),
        strict=True,
    )
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5, check_dtype=False)


@pytest.mark.parametrize("chunk_logits", [1, 44, 1 << 20])
def test_two_passes_loss_is_the_mean_with_their_divergences(chunk_logits, monkeypatch):
    monkeypatch.setattr(objective, "_CHUNK_LOGITS_CPU", chunk_logits)
    hidden, weight, bias, labels = inputs()
    other = torch.randn_like(hidden, requires_grad=True)
    leaves = hidden, other, weight, bias
    logits = [F.linear(states, weight, bias) for states in (hidden, other)]
    wanted = sum(F.cross_entropy(one, labels, reduction="sum", label_smoothing=0.1) / 2
                 for one in logits)  # fmt: skip
    logs = [one.log_softmax(1) for one in logits]
    for p, q in (logs, logs[::-1]):
        wanted = wanted + 5.0 / 4 * F.kl_div(q, p, reduction="sum", log_target=True)
    ours = consistent_cross_entropy(*leaves, labels, 0.1, 5.0)
    pairs = zip(with_gradients(ours, *leaves), with_gradients(wanted, *leaves), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5, check_dtype=False)


def test_huge_logits_stay_finite():
    hidden, weight, bias, labels = inputs()
    ours = smoothed_cross_entropy(hidden * 1000, weight, bias, labels, 0.1)
    logits = F.linear(hidden * 1000, weight, bias)
    wanted = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=0.1)
    assert ours.item() == pytest.approx(wanted.item(), rel=1e-4)


def test_nothing_is_differentiated_where_nothing_asks_for_it():
    hidden, weight, bias, labels = inputs()
    with torch.no_grad():
        loss = smoothed_cross_entropy(hidden, weight, bias, labels, 0.1)
    assert not loss.requires_grad


def test_bfloat16_products_come_close():
    hidden, weight, bias, labels = inputs(dtype=torch.float32)
    plain = smoothed_cross_entropy(hidden, weight, bias, labels, 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = smoothed_cross_entropy(hidden, weight, bias, labels, 0.1)
    assert rounded.dtype == torch.float32
    results = zip(
        with_gradients(rounded, hidden, weight, bias),
        with_gradients(plain, hidden, weight, bias),
        strict=True,
    )
    for mine, theirs in results:
        assert (mine - theirs).norm() < 0.02 * theirs.norm()


def test_scores_are_the_unsmoothed_loss_with_hits():
    hidden, weight, bias, labels = inputs()
    logits = F.linear(hidden, weight, bias)
    scores = score_targets(hidden, weight, bias, labels)
    wanted = F.cross_entropy(logits, labels, reduction="sum").item()
    assert scores.negative_log_likelihood.item() == pytest.approx(wanted)
    assert scores.num_correct.item() == (logits.argmax(1) == labels).sum().item()
