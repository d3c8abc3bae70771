"""Attention's kernels at the lengths of sentences, forward and backward."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.gpu.cells import Cell, Setting
from benchmarks.gpu.timing import median_seconds
from transformer.model.attention import explicit_attention, scaled_dot_product_attention

LENGTHS = (16, 27, 64, 128)
FORMS = ("all", "causal", "masked")
KERNELS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "explicit": None,
    "explicit compiled": None,
}
_TOKENS, _HEADS, _WIDTH = 25_600, 8, 64


def list_cells(setting: Setting) -> list[Cell]:
    """The cells of the part `attention`: a kernel at a length each, with every form of mask."""
    lengths = LENGTHS[:1] if setting.is_tiny else LENGTHS
    return [
        Cell(
            f"{kernel} {length}",
            partial(_measure, setting, kernel, length),
            20,
        )
        for length in lengths
        for kernel in KERNELS
    ]


def _measure(setting: Setting, kernel: str, length: int) -> dict[str, Any]:
    """Microseconds a token for each form of mask, or why there are none."""
    tokens = 4 * length if setting.is_tiny else _TOKENS
    device = setting.device
    shape = tokens // length, _HEADS, length, _WIDTH
    dtype = torch.bfloat16
    query, key, value, gradient = (
        torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(4)
    )
    for x in (query, key, value):  # as in a model: heads and their width are fixed
        torch._dynamo.mark_static(x, 1)
        torch._dynamo.mark_static(x, 3)
    lengths = torch.randint(length // 2, length + 1, (shape[0], 1, 1, 1), device=device)
    mask = torch.arange(length, device=device) < lengths  # [B, 1, 1, K]
    attend: Callable[..., Tensor] = scaled_dot_product_attention
    if kernel.startswith("explicit"):
        attend = explicit_attention
        if kernel.endswith("compiled"):
            attend = torch.compile(explicit_attention, dynamic=True)
    backend = KERNELS[kernel]
    values: dict[str, Any] = {}
    for form in FORMS:

        def work(form: str = form) -> None:
            context = attend(
                query, key, value, mask if form == "masked" else None, form == "causal", 0.0
            )
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
