"""Token embeddings with positions added.

Shapes: B batch, L length, D d_model.
"""

import math

import torch
from torch import Tensor, nn

from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout


class Embedding(nn.Module):
    """Token embedding, scaled or not, plus positions, then dropout."""

    positions: Tensor | None

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, config.d_model)
        self.scale = math.sqrt(config.d_model) if config.scale_embeddings else 1.0
        self.max_positions = config.max_positions
        self.dtype: torch.dtype | None = None  # of what is returned; None: that of the weights
        rate = config.embedding_dropout
        self.dropout = Dropout(config.dropout if rate is None else rate)
        if config.position_encoding == "learned":
            self.positions = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif config.position_encoding == "sinusoidal":
            table = sinusoidal_positions(config.max_positions, config.d_model)
            self.register_buffer("positions", table, persistent=False)
        else:
            self.positions = None

    def forward(self, ids: Tensor) -> Tensor:
        """A whole sequence, ids int64 [B, L] -> [B, L, D].

        Raises:
            ValueError: it is longer than `model.max_positions`.
        """
        x = self.tokens(ids) * self.scale
        if self.positions is not None:
            length = ids.shape[1]
            if not torch.compiler.is_compiling() and length > self.max_positions:
                raise ValueError(
                    f"a sequence of {length} tokens is longer than model.max_positions = "
                    f"{self.max_positions}; shorten it or raise model.max_positions"
                )
            x = x + self.positions[:length]
        return self.dropout(x if self.dtype is None else x.to(self.dtype))  # type: ignore[no-any-return]

    def step(self, ids: Tensor, position: Tensor) -> Tensor:
        """ids int64 [B, W], all at one position, int64 [], counted from 0 -> [B, W, D]."""
        x = self.tokens(ids) * self.scale
        if self.positions is not None:
            x = x + self.positions.index_select(0, position.reshape(1))
        return self.dropout(x)  # type: ignore[no-any-return]


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """The fixed table of 2017, section 3.5: [length, d_model], sines at even, cosines at odd."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position * torch.exp(even * (-math.log(10_000.0) / d_model))  # [length, d_model / 2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def look_up(table: Tensor, places: Tensor) -> Tensor:
    """`table[places]` for a table [n], as one Gather; indexing is exported as more."""
    return nn.functional.embedding(places, table.unsqueeze(1)).squeeze(-1)
