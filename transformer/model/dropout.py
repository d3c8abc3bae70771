"""Dropout whose masks are cheap to draw on a CPU."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_LEVELS = 256


class Dropout(nn.Module):
    """Dropout (Srivastava et al. 2014), with one random byte for each value on a CPU.

    There the rate is rounded to the nearest multiple of 1/256, and what is kept is scaled by
    the rounded rate, so that the expectation is exact. On other devices, and where the graph is
    compiled, it is PyTorch's own: fused kernels draw masks at no cost there.

    Masks come from PyTorch's default generator, so `torch.manual_seed` fixes them.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """[...] -> [...]; the identity when not training."""
        if not self._is_by_bytes(x):
            return F.dropout(x, self.rate, self.training)
        return x * self._draw_mask(x)

    def add(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + dropout(x), two tensors of one shape, in one pass over memory."""
        if not self._is_by_bytes(x):
            return residual + F.dropout(x, self.rate, self.training)
        added: Tensor = _AddMasked.apply(residual, x, self._draw_mask(x))  # type: ignore[no-untyped-call]
        return added

    def _is_by_bytes(self, x: Tensor) -> bool:
        return (
            self.training
            and self._threshold > 0
            and x.device.type == "cpu"
            and not torch.compiler.is_compiling()
        )

    @property
    def _threshold(self) -> int:
        return min(round(self.rate * _LEVELS), _LEVELS - 1)

    @torch.no_grad()
    def _draw_mask(self, x: Tensor) -> Tensor:
        # Eight bytes a draw, over the whole range: the default one leaves the top bit clear.
        words = torch.empty(math.ceil(x.numel() / 8), dtype=torch.int64).random_(-(2**63), None)
        levels = words.view(torch.uint8)[: x.numel()].view(x.shape)
        mask = torch.empty_like(x, memory_format=torch.contiguous_format)
        torch.ge(levels, self._threshold, out=mask)  # 1 where kept
        return mask.mul_(_LEVELS / (_LEVELS - self._threshold))

    def extra_repr(self) -> str:
        """The rate, for `print(model)`."""
        return f"rate={self.rate}"


class _AddMasked(torch.autograd.Function):
    """residual + x * mask; the mask is a constant."""

    @staticmethod
    def forward(ctx: Any, residual: Tensor, x: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return torch.addcmul(residual, x, mask)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (mask,) = ctx.saved_tensors
        return gradients[0], gradients[0] * mask, None
