"""The `evaluate` section: how the test set is translated, scored, pictured."""

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, model_validator

from transformer.config import Section


class EvaluateConfig(Section):
    """Scores follow sacreBLEU (Post 2018, arXiv:1804.08771); their signatures are reported."""

    device: Literal["auto", "cpu", "cuda"]
    # How many test sentences are translated, by `export` too: the same sample for every model.
    # Such a quick run is never ranked, compared with or promoted over one of the whole test set.
    # null: all.
    num_sentences: int | None = Field(ge=1)
    # Source positions in a batch, padding included. Changes memory, not translations.
    batch_tokens: int = Field(ge=1, le=10**8)
    # sacreBLEU's tokenisation of references: 13a for most languages, zh for Chinese,
    # char where no spaces stand between words.
    bleu_tokenizer: Literal["13a", "intl", "zh", "char"]
    # Resamples behind each 95 % interval; memory grows with this times the test sentences.
    num_bootstrap: int = Field(ge=40, le=10**5)
    # Upper edges, in source tokens, of the groups of BLEU by length; a last group takes the rest.
    length_bins: list[int] = Field(min_length=1)
    num_attention_plots: int = Field(ge=0)

    @model_validator(mode="after")
    def _edges_rise(self) -> Self:
        edges = [0, *self.length_bins]
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError(
                f"length_bins = {self.length_bins} must be positive and strictly rising, "
                "such as [5, 10, 20]"
            )
        return self
