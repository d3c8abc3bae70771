"""The `synthesize` section: training pairs that an exported translator makes."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from transformer.config import Section
from transformer.text.monolingual import check_name


class NoSynthesis(Section):
    """The stage makes nothing."""

    kind: Literal["none"]


class Synthesis(Section):
    """What both kinds have in common."""

    # Of the translator's graph: int8 is the quickest on the CPU, and gives the same translations on
    # processors alike.
    precision: Literal["float32", "int8"]
    # Hypotheses kept alive; null: the translator's own; 1 is greedy search.
    beam_size: int | None = Field(ge=1, le=100)
    # How often a pair of the corpus comes beside those that are made: 0 leaves them out, 4 repeats
    # each four times, 2.5 half of them a third time.
    original_weight: float = Field(ge=0, le=1000)
    # Of the best translations of each text: how many are looked at.
    num_best: int = Field(ge=1, le=100)

    @model_validator(mode="after")
    def _beam_holds_them(self) -> Self:
        if self.beam_size is not None and self.num_best > self.beam_size:
            raise ValueError(
                f"num_best = {self.num_best}: at most beam_size = {self.beam_size} translations "
                "are found"
            )
        return self


class Distillation(Synthesis):
    """A teacher translates the training sources: each of the `num_best` makes a pair."""

    kind: Literal["distillation"]


class TranslationNoise(Section):
    """Noise on the words of a translation, each by chance (Edunov et al., 2018)."""

    # The share of words that are left out.
    drop: float = Field(ge=0, lt=1)
    # The share of words that are replaced by a mark.
    blank: float = Field(ge=0, lt=1)
    # How far a word may move at most; 0: words keep their places.
    max_shift: int = Field(ge=0, le=100)


class BackTranslation(Synthesis):
    """A translator of the other direction makes sources for text in the target language.

    One of the `num_best` is drawn, by their probabilities.
    """

    kind: Literal["back_translation"]
    # UTF-8, plain or gzipped, a sentence a line; in data/monolingual.
    text: str
    # So many of its lines, evenly spaced; null: all.
    max_sentences: int | None = Field(ge=1)
    noise: TranslationNoise | None
    # Stands before each source that is made, so that the model tells them from real ones (Caswell
    # et al., 2019); null: nothing.
    tag: str | None = Field(min_length=1, max_length=100)
    seed: int = Field(ge=0)

    _text_is_a_name = field_validator("text")(check_name)

    @field_validator("tag")
    @classmethod
    def _tag_is_a_word(cls, tag: str | None) -> str | None:
        if tag is not None and tag.split() != [tag]:
            raise ValueError(f"{tag!r}: a tag is one word, such as '<bt>'")
        return tag


SynthesisConfig = Annotated[
    NoSynthesis | Distillation | BackTranslation, Field(discriminator="kind")
]
