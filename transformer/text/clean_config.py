"""The `clean` section: how text is normalised, which training pairs are kept."""

from typing import Annotated, Literal

from pydantic import Field

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
    # Reject a pair that was kept before.
    drop_duplicates: bool
    # Noise on the sources of the training pairs that are kept; null: none.
    augment: AugmentConfig | None
    # Rejected pairs kept to look at, for each reason, drawn at random.
    num_reject_samples: int = Field(ge=0)
    # Of those samples, and of the noise.
    seed: int = Field(ge=0)
