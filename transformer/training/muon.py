"""Muon: a matrix moves along the nearest orthogonal matrix to its momentum, AdamW the rest.

K. Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks". Moves are scaled
as J. Liu et al. 2025 (arXiv 2502.16982) do it, to the size of an AdamW step, so that both share one
learning rate and weight decay. Here matrices of equal shape are made orthogonal together, in
float32, which on a CPU is several times as fast as one by one in bfloat16.
"""

import math
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

# An AdamW step has about this root mean square, in units of the learning rate.
_ADAMW_RMS = 0.2
# x -> a x + b x^3 + c x^5 on singular values: steep at 0, so that a few iterations bring nearly all
# of them near 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ITERATIONS = 3


class Muon(torch.optim.Optimizer):
    """Muon for the matrices of layers, and another optimizer for all other parameters.

    Args:
        matrices: each with the number of matrices of equal shape that stand in it, one below the
            other: queries', keys' and values' projections are one parameter.
        others: the optimizer of the other parameters; its groups become groups of this one.
        momentum: how much of the past a step keeps (Nesterov's).
        weight_decay: of the matrices, decoupled.
    """

    def __init__(
        self,
        matrices: Iterable[tuple[nn.Parameter, int]],
        others: torch.optim.Optimizer,
        momentum: float,
        weight_decay: float,
    ) -> None:
        matrices = list(matrices)
        self._parts = [num_parts for _, num_parts in matrices]
        group = {
            "params": [p for p, _ in matrices],
            "lr": 0.0,
            "momentum": momentum,
            "weight_decay": weight_decay,
        }
        super().__init__([group, *others.param_groups], {})
        self._others = others
        others.state = self.state

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step of all parameters that have a gradient."""
        self._others.step()
        group = self.param_groups[0]
        rate, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        moves: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for parameter, num_parts in zip(group["params"], self._parts, strict=True):
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if not state:
                state["momentum"] = torch.zeros_like(parameter)
            state["momentum"].lerp_(parameter.grad, 1 - momentum)
            direction = parameter.grad.lerp(state["momentum"], momentum)
            parameter.mul_(1 - rate * decay)
            for part in zip(parameter.chunk(num_parts), direction.chunk(num_parts), strict=True):
                rows, columns = part[0].shape
                weight, move = part if rows <= columns else (part[0].mT, part[1].mT)
                moves[min(rows, columns), max(rows, columns)].append((weight, move))
        for (_, longer), pairs in moves.items():
            step_size = rate * _ADAMW_RMS * math.sqrt(longer)
            orthogonal = orthogonalize(torch.stack([move for _, move in pairs]))
            for (weight, _), move in zip(pairs, orthogonal, strict=True):
                weight.sub_(move, alpha=step_size)


def orthogonalize(matrices: Tensor) -> Tensor:
    """U V^T, roughly, where U S V^T is a matrix: singular values between about 0.7 and 1.2.

    Args:
        matrices: float [N, R, C], R <= C. Singular values that are very small beside the largest
            stay below that range.

    Returns:
        [N, R, C].
    """
    x = matrices / (torch.linalg.matrix_norm(matrices, keepdim=True) + 1e-7)
    for _ in range(_ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=_B, alpha=_C), x, beta=_A)
    return x  # type: ignore[no-any-return]
