"""The `clean` section: how text is normalised, which training pairs are kept."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from transformer.config import Section


class NormalizationConfig(Section):
    """What is done to one side beyond the Unicode and white space rules, which always hold."""

    lowercase: bool
    # Hyphens and dashes become spaces; all other punctuation but the apostrophe is removed.
    strip_punctuation: bool
    # Typographic quotes, apostrophes, ligatures, full-width forms, spaces before ? ! : ; and
    # repeated marks get one plain form: a sentence is the same however it is typed.
    fold_typography: bool


Share = Annotated[float, Field(ge=0, le=1)]


class AugmentConfig(Section):
    """The share of training sources on which each kind of noise is tried.

    After the modifiers of OpusTrainer (Bogoychev et al. 2023, arXiv:2311.14838).
    """

    # é as e, of Latin letters.
    lose_accents: Share
    # In one word of four letters or more, names excepted: two letters swapped, one dropped,
    # doubled, or that of a key beside it.
    typo: Share
    # No . ? ! at the end; the target keeps its own.
    lose_final_mark: Share
    lowercase: Share
    uppercase: Share
    # Each Word With A Capital.
    title_case: Share


class ScoreConfig(Section):
    """A score for each training pair that all other filters keep, from a command of the user's."""

    # The shell runs it for each shard: lines `source<TAB>target` in, a number a line out.
    command: str = Field(min_length=1)
    # The least that a pair is kept with; null keeps all, and their scores in the column `score`.
    min_score: float | None


class CleanConfig(Section):
    """Normalisation for all parts; filters for training text only, in the order listed here."""

    source: NormalizationConfig
    target: NormalizationConfig
    # Cut training pairs into their sentences; pairs with unequal numbers of them are rejected.
    single_sentence: bool
    # What the two limits below count: words between spaces, or characters (for Chinese and such).
    length_unit: Literal["word", "character"]
    # The longer side's most units; null: no limit.
    max_length: int | None = Field(ge=1)
    # The longer side's length over the shorter side's; null: no limit.
    max_length_ratio: float | None = Field(ge=1)
    # Reject a pair whose two sides are the same text.
    drop_copies: bool
    # Reject a pair with a side that stands on that side in the validation or test part.
    drop_leaks: bool
    # What follows is for noisy text. Of each side, the least share of letters in all but spaces;
    # null: any.
    min_letter_share: Share | None
    # Characters of the longest word; null: no limit.
    max_word_length: int | None = Field(ge=1)
    # How often 3 to 100 characters may be said again in a row; null: as often as they like.
    max_repetitions: int | None = Field(ge=1, le=1000)
    # The least share of digits, zeros aside, that the sides have in common; null: none.
    min_digit_overlap: Share | None
    # Reject a pair whose sides differ in placeholders or tags.
    drop_different_placeholders: bool
    # What an identifier has to give each side's language at least; null: any language. It is the
    # extra `filters`.
    min_language_probability: float | None = Field(gt=0, le=1)
    # A score from outside; null: none.
    score: ScoreConfig | None
    # Reject a pair that was kept before.
    drop_duplicates: bool
    # Noise on the sources of the training pairs that are kept; null: none.
    augment: AugmentConfig | None
    # Rejected pairs kept to look at, for each reason, drawn at random.
    num_reject_samples: int = Field(ge=0)
    # Of those samples, and of the noise.
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _placeholders_are_left(self) -> Self:
        if self.drop_different_placeholders and (
            self.source.strip_punctuation or self.target.strip_punctuation
        ):
            raise ValueError(
                "drop_different_placeholders = True: strip_punctuation takes them out of the text; "
                "set one of the two to false"
            )
        return self
