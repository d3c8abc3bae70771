"""Where tokens stand: tables that are added to embeddings, and turns of queries and keys.

Shapes: L length, P positions, D d_model, H heads, E = D / H head width.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Rotation(NamedTuple):
    """The turns of all P positions, and where tokens stand: L of them, or one for several rows."""

    cos: Tensor  # [P, E / 2], for each pair of features
    sin: Tensor  # likewise
    places: Tensor  # int64 [L]


class RotaryPositions(nn.Module):
    """Rotary position embedding (Su et al. 2021, arXiv:2104.09864, equation 15).

    Features 2i and 2i + 1 of each head are a point, turned by position / 10000^(2i / E). The
    product of a query and a key then depends on how far apart they stand.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, max_positions: int, head_width: int) -> None:
        super().__init__()
        self.max_positions = max_positions
        angles = _angles(max_positions, head_width)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, length: int) -> Rotation:
        """Of positions 0 to length - 1.

        Raises:
            ValueError: that is longer than `model.max_positions`.
        """
        check_length(length, self.max_positions)
        return Rotation(self.cos, self.sin, torch.arange(length, device=self.cos.device))

    def step(self, position: Tensor) -> Rotation:
        """Of one position, int64 [], counted from 0."""
        return Rotation(self.cos, self.sin, position.reshape(1))


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Turns the heads' features; x [B, L, n * E] for any n -> the same shape and type."""
    *tables, places = rotation
    cos, sin = (table.index_select(0, places).unsqueeze(1) for table in tables)  # [L, 1, E / 2]
    pairs = x.reshape(*x.shape[:-1], -1, cos.shape[-1], 2)  # [B, L, n, E / 2, 2]
    if x.dtype == torch.float32 and not torch.compiler.is_compiling():
        # The same as a product of complex numbers: one pass over them, and one backward.
        turned = torch.view_as_complex(pairs) * torch.complex(cos, sin)
        return torch.view_as_real(turned).flatten(-3)
    turned = pairs * cos.unsqueeze(-1) + pairs.flip(-1) * torch.stack([-sin, sin], dim=-1)
    return turned.flatten(-3).to(x.dtype)


def sinusoidal_positions(length: int, d_model: int, in_halves: bool = False) -> Tensor:
    """The fixed table of 2017, section 3.5: [length, d_model], sines at even, cosines at odd.

    In halves, all sines stand before all cosines.
    """
    angles = _angles(length, d_model)
    if in_halves:
        return torch.cat([angles.sin(), angles.cos()], dim=-1).float()
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


def check_length(length: int, max_positions: int) -> None:
    """Raise ValueError for a sequence that is longer than the model's."""
    if not torch.compiler.is_compiling() and length > max_positions:
        raise ValueError(
            f"a sequence of {length} tokens is longer than model.max_positions = "
            f"{max_positions}; shorten it or raise model.max_positions"
        )


def _angles(length: int, width: int) -> Tensor:
    """position / 10000^(2i / width), float64 [length, width / 2]."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, width, 2, dtype=torch.float64)
    return position * torch.exp(even * (-math.log(10_000.0) / width))
