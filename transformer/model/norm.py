"""Layer norm by the unbiased standard deviation."""

import torch
from torch import Tensor, nn


class DeviationNorm(nn.Module):
    """weight * (x - mean) / (deviation + epsilon) + bias, over the last axis.

    The deviation divides by D - 1, and epsilon stands outside the root. `torch.nn.LayerNorm`
    (Ba et al. 2016, equation 3) divides by D, with epsilon inside: the two differ by a factor of
    sqrt(1 - 1 / D) where epsilon is small. Parameters have the same names and shapes.
    """

    def __init__(self, d_model: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D], of the type of `x`; computed in float32."""
        wide = x.float()
        centered = wide - wide.mean(-1, keepdim=True)
        deviation = wide.std(-1, keepdim=True)  # its slope where all are equal is taken as 0
        return (self.weight * (centered / (deviation + self.epsilon)) + self.bias).to(x.dtype)

    def extra_repr(self) -> str:
        """Width and epsilon, for `print(model)`."""
        return f"{len(self.weight)}, epsilon={self.epsilon}"
