"""Token embeddings, with positions added where they are a table.

Shapes: B batch, L length, D d_model.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout
from transformer.model.positions import check_length, sinusoidal_positions


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
        elif config.position_encoding in ("sinusoidal", "sinusoidal_halves"):
            in_halves = config.position_encoding == "sinusoidal_halves"
            table = sinusoidal_positions(config.max_positions, config.d_model, in_halves)
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
            check_length(length, self.max_positions)
            x = x + self.positions[:length]
        return self.dropout(x if self.dtype is None else x.to(self.dtype))  # type: ignore[no-any-return]

    def step(self, ids: Tensor, position: Tensor, table: Tensor | None = None) -> Tensor:
        """ids int64 [B, W], all at one position, int64 [], counted from 0 -> [B, W, D].

        With a table [n, D], the ids are rows of it, which are scaled already.
        """
        x = self.tokens(ids) * self.scale if table is None else F.embedding(ids, table)
        if self.positions is not None:
            x = x + self.positions.index_select(0, position.reshape(1))
        return self.dropout(x)  # type: ignore[no-any-return]
