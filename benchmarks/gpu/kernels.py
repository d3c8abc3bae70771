"""Parts of a step by themselves, forward and backward: the loss, and attention's kernels."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.gpu.cells import Cell, Setting
from benchmarks.gpu.timing import forget_peak, median_seconds, peak_gigabytes
from transformer.model.attention import explicit_attention
from transformer.training.device import autocast
from transformer.training.loss import plain_cross_entropy, smoothed_cross_entropy

VOCABULARIES = (8_000, 32_000)
LOSSES = ("usual", "plain", "plain compiled")
LENGTHS = (16, 27, 64, 128)
MASKS = ("all", "causal", "masked")
KERNELS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "explicit": None,
    "explicit compiled": None,
}
_TOKENS, _WIDTH, _HEADS, _HEAD_WIDTH = 25_600, 512, 8, 64


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """`loss`: by form, vocabulary and precision; `attention`: a kernel at a length each."""
    if part == "loss":
        return [
            Cell(
                f"{form} {vocab_size} {str(dtype).removeprefix('torch.')}",
                partial(_measure_loss, setting, form, vocab_size, dtype),
                30 if form.endswith("compiled") else 10,
            )
            for vocab_size in ((40,) if setting.is_tiny else VOCABULARIES)
            for dtype in (torch.bfloat16, torch.float32)
            for form in LOSSES
        ]
    return [
        Cell(f"{kernel} {length}", partial(_measure_attention, setting, kernel, length), 20)
        for length in (LENGTHS[:1] if setting.is_tiny else LENGTHS)
        for kernel in KERNELS
    ]


def _measure_loss(
    setting: Setting, form: str, vocab_size: int, dtype: torch.dtype
) -> dict[str, Any]:
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


def _measure_attention(setting: Setting, kernel: str, length: int) -> dict[str, Any]:
    """Microseconds a token for each form of mask, or why there are none."""
    tokens = 4 * length if setting.is_tiny else _TOKENS
    device = setting.device
    shape = tokens // length, _HEADS, length, _HEAD_WIDTH
    query, key, value, gradient = (
        torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True)
        for _ in range(4)
    )
    for x in (query, key, value):  # as in a model: heads and their width are fixed
        torch._dynamo.mark_static(x, 1)
        torch._dynamo.mark_static(x, 3)
    lengths = torch.randint(length // 2, length + 1, (shape[0], 1, 1, 1), device=device)
    real = torch.arange(length, device=device) < lengths  # [B, 1, 1, K]
    attend: Callable[..., Tensor] = _fused_attention
    if kernel.startswith("explicit"):
        attend = explicit_attention
        if kernel.endswith("compiled"):
            attend = torch.compile(explicit_attention, dynamic=True)
    backend = KERNELS[kernel]
    values: dict[str, Any] = {}
    for form in MASKS:
        mask = real if form == "masked" else None

        def work(mask: Tensor | None = mask, is_causal: bool = form == "causal") -> None:
            context = attend(query, key, value, mask, is_causal, 0.0)
            context.backward(gradient.detach())  # type: ignore[no-untyped-call]
            query.grad = key.grad = value.grad = None

        try:
            with nullcontext() if backend is None else sdpa_kernel(backend):
                seconds = median_seconds(work, device, 3 if setting.is_tiny else 30)
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise
            values[form] = f"not available: {str(error).splitlines()[0]}"
        else:
            values[form] = seconds / tokens * 1e6
    return values


def _fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, dropout: float
) -> Tensor:
    # With the arguments of `explicit_attention`.
    return scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=is_causal, dropout_p=dropout
    )
