"""The loss with its gradients: ours against the compiler's, by precision and vocabulary."""

from functools import partial
from typing import Any

import torch

from benchmarks.gpu.cells import Cell, Setting
from benchmarks.gpu.timing import forget_peak, median_seconds, peak_gigabytes
from transformer.training.device import autocast
from transformer.training.loss import plain_cross_entropy, smoothed_cross_entropy

VOCABULARIES = (8_000, 32_000)
FORMS = ("usual", "plain", "plain compiled")
_TOKENS, _WIDTH = 25_600, 512


def list_cells(setting: Setting) -> list[Cell]:
    """The cells of the part `loss`."""
    vocabularies = (40,) if setting.is_tiny else VOCABULARIES
    return [
        Cell(
            f"{form} {vocab_size} {str(dtype).removeprefix('torch.')}",
            partial(_measure, setting, form, vocab_size, dtype),
            30 if form.endswith("compiled") else 10,
        )
        for vocab_size in vocabularies
        for dtype in (torch.bfloat16, torch.float32)
        for form in FORMS
    ]


def _measure(setting: Setting, form: str, vocab_size: int, dtype: torch.dtype) -> dict[str, Any]:
    device, tokens = setting.device, 64 if setting.is_tiny else _TOKENS
    cross_entropy = smoothed_cross_entropy if form == "usual" else plain_cross_entropy
    if form.endswith("compiled"):
        cross_entropy = torch.compile(plain_cross_entropy, dynamic=True)
    forget_peak(device)
    hidden = torch.randn(tokens, _WIDTH, device=device, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(vocab_size, _WIDTH, device=device) * _WIDTH**-0.5)
    labels = torch.randint(vocab_size, (tokens,), device=device)

    def work() -> None:
        with autocast(device, dtype):
            loss = cross_entropy(hidden, weight, None, labels, 0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        hidden.grad = weight.grad = None

    seconds = median_seconds(work, device, 3 if setting.is_tiny else 20)
    return {
        "microseconds_a_token": seconds / tokens * 1e6,
        "memory_gb": peak_gigabytes(device),
    }
