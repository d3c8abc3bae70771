"""The `search` section: how translations are looked for."""

import math

from pydantic import Field

from transformer.config import Section


class SearchConfig(Section):
    """Beam search with the length penalty of Wu et al. 2016 (arXiv:1609.08144, section 7)."""

    # Live hypotheses per sentence; 1 is greedy search.
    beam_size: int = Field(ge=1, le=100)
    # The exponent of the penalty: 0 ranks by log-probability, 1 nearly by its mean per token.
    length_penalty: float = Field(ge=0)
    # A sentence is done after patience * beam_size ended hypotheses (Kasai et al. 2022,
    # arXiv:2204.05424); null: only when no live one can win. One beam needs none.
    patience: float | None = Field(ge=1)
    # A translation holds at most floor(factor * source tokens) + extra tokens, end marks included
    # on both sides, and never more than model.max_positions.
    max_length_factor: float = Field(ge=0)
    max_length_extra: int = Field(ge=1)

    def check_vocabulary(self, target_vocab_size: int) -> None:
        """Refuses more beams than half the target vocabulary, as the exported translator does.

        Raises:
            ValueError: there are too many.
        """
        if self.beam_size > target_vocab_size // 2:
            raise ValueError(
                f"search.beam_size = {self.beam_size}: at most {target_vocab_size // 2}, half of "
                f"the {target_vocab_size} entries that the target vocabulary has; lower it"
            )

    @property
    def patience_factor(self) -> float:
        """The patience as a number: infinite for none."""
        return math.inf if self.patience is None else self.patience

    def max_length(self, num_source_tokens: int, max_positions: int) -> int:
        """The most target tokens, end mark included, for a source of so many tokens."""
        wanted = int(self.max_length_factor * num_source_tokens) + self.max_length_extra
        return min(wanted, max_positions)
