"""How translations are searched for: one typed object, from params to the graph's inputs.

No torch: serving reads it too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from transformer.config import Section

# Of a million tokens the penalty with this exponent still fits into float32.
LARGEST_LENGTH_PENALTY = 5.0


class SearchConfig(Section):
    """The `search` section: beam search with the length penalty of Wu et al. 2016, section 7."""

    # Live hypotheses per sentence; 1 is greedy search.
    beam_size: int = Field(ge=1, le=100)
    # The exponent of the penalty (arXiv:1609.08144): 0 ranks by log-probability, 1 nearly by its
    # mean per token.
    length_penalty: float = Field(ge=0, le=LARGEST_LENGTH_PENALTY)
    # A sentence is done after patience * beam_size ended hypotheses (Kasai et al. 2022,
    # arXiv:2204.05424), or when no live one could win with a score a fifth better; null: only when
    # none can win whatever follows. One beam needs none.
    patience: float | None = Field(ge=1)
    # A translation holds at most floor(factor * source tokens) + extra tokens, end tokens included
    # on both sides, and never more than model.max_positions.
    max_length_factor: float = Field(ge=0)
    max_length_extra: int = Field(ge=1)

    def options(self, max_positions: int, num_best: int = 1) -> "SearchOptions":
        """What a search is handed, for a model of so many positions."""
        return SearchOptions(
            beam_size=self.beam_size,
            num_best=num_best,
            length_penalty=self.length_penalty,
            patience=math.inf if self.patience is None else self.patience,
            max_length_factor=self.max_length_factor,
            max_length_extra=self.max_length_extra,
            max_positions=max_positions,
        )


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a caller may choose of a search.

    Raises:
        ValueError: an option is out of its range, however the object came to be.
    """

    beam_size: int
    # Hypotheses to return, at most `beam_size`.
    num_best: int
    length_penalty: float
    # Infinite for none.
    patience: float
    max_length_factor: float
    max_length_extra: int
    # The most target tokens of any translation.
    max_positions: int

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size = {self.beam_size}: must be 1 or more")
        if not 1 <= self.num_best <= self.beam_size:
            raise ValueError(
                f"num_best = {self.num_best}: must be from 1 to beam_size = {self.beam_size}; "
                "ask for fewer, or for a larger beam_size"
            )
        if not 0 <= self.length_penalty <= LARGEST_LENGTH_PENALTY:
            raise ValueError(
                f"length_penalty = {self.length_penalty}: must be from 0 to "
                f"{LARGEST_LENGTH_PENALTY}"
            )
        if not self.patience >= 1:
            raise ValueError(
                f"patience = {self.patience}: must be 1 or more, or inf to search to the end"
            )
        if not (math.isfinite(self.max_length_factor) and self.max_length_factor >= 0):
            raise ValueError(
                f"max_length_factor = {self.max_length_factor}: must be finite, 0 or more"
            )
        if self.max_length_extra < 1:
            raise ValueError(f"max_length_extra = {self.max_length_extra}: must be 1 or more")

    def check_vocabulary(self, target_vocab_size: int) -> None:
        """Refuses more beams than half the target vocabulary, among which a step chooses.

        Raises:
            ValueError: there are too many.
        """
        largest = target_vocab_size // 2
        if self.beam_size > largest:
            raise ValueError(
                f"beam_size = {self.beam_size}: must be from 1 to {largest}, half of the "
                f"{target_vocab_size} entries that the target vocabulary has; lower it"
            )

    def max_length(self, num_source_tokens: int) -> int:
        """The most target tokens for a source of so many, end tokens included on both sides."""
        wanted = math.floor(self.max_length_factor * num_source_tokens) + self.max_length_extra
        return min(wanted, self.max_positions)

    def graph_inputs(self, sources: Sequence[Sequence[int]], pad_id: int) -> dict[str, Any]:
        """A batch of source ids with these options, as the exported graph takes them.

        Args:
            sources: ids with the end token; any may be empty.
            pad_id: of the source's vocabulary.
        """
        import numpy as np

        lengths = [len(ids) for ids in sources]
        source = np.full((len(sources), max([1, *lengths])), pad_id, dtype=np.int64)
        for row, ids in enumerate(sources):
            source[row, : len(ids)] = ids
        return {
            "source": source,  # [B, S]
            "max_length": np.array([self.max_length(n) for n in lengths], dtype=np.int64),  # [B]
            "length_penalty": np.array(self.length_penalty, dtype=np.float32),
            "patience": np.array(self.patience, dtype=np.float32),
            "beam_size": np.array(self.beam_size, dtype=np.int64),
            "num_best": np.array(self.num_best, dtype=np.int64),
        }
