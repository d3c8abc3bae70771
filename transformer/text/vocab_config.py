"""The `vocab` and `tokenize` sections: which tokenizers are used, and for which pairs."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from transformer.config import Section
from transformer.text.special_tokens import SPECIAL_TOKENS

# Every byte has a piece in the sub-word vocabularies, so no text is unknown to them.
_SMALLEST_BYTE_VOCABULARY = 256 + len(SPECIAL_TOKENS)
# Forty times the largest that people train on; its embedding alone takes gigabytes.
_LARGEST_VOCABULARY = 10**7


class BpeSpec(Section):
    """Byte-pair encoding over UTF-8 bytes (Sennrich et al. 2016, arXiv:1508.07909)."""

    kind: Literal["bpe"]
    # The most pieces, special tokens and the 256 bytes included; a small text gives fewer.
    size: int = Field(ge=_SMALLEST_BYTE_VOCABULARY, le=_LARGEST_VOCABULARY)
    # Pairs of pieces that are rarer than this are not merged.
    min_frequency: int = Field(ge=1)
    # Write a capital as a mark and its small letter: a word has the same pieces in any case.
    mark_case: bool


class UnigramSpec(Section):
    """A unigram language model over UTF-8 bytes (Kudo 2018, arXiv:1804.10959)."""

    kind: Literal["unigram"]
    # The most pieces, special tokens and the 256 bytes included; a small text gives fewer.
    size: int = Field(ge=_SMALLEST_BYTE_VOCABULARY, le=_LARGEST_VOCABULARY)
    # Write a capital as a mark and its small letter: a word has the same pieces in any case.
    mark_case: bool


class WordSpec(Section):
    """Whole words; everything else is `<unk>`."""

    kind: Literal["word"]
    # Where a word ends. space: at spaces alone. sign: at signs and digits too, which are words of
    # their own, and after an apostrophe but for short endings ("l'|homme", "don't").
    boundary: Literal["space", "sign"]
    # The most words, special tokens included; the most frequent are kept.
    size: int = Field(gt=len(SPECIAL_TOKENS), le=_LARGEST_VOCABULARY)
    # Words that are rarer than this are left out.
    min_frequency: int = Field(ge=1)


class CharacterSpec(Section):
    """Single characters (Unicode code points), spaces too; everything else is `<unk>`."""

    kind: Literal["character"]
    # The most characters, special tokens included; the most frequent are kept.
    size: int = Field(gt=len(SPECIAL_TOKENS), le=_LARGEST_VOCABULARY)
    # Characters that are rarer than this are left out.
    min_frequency: int = Field(ge=1)


class PretrainedSpec(Section):
    """A ready-made tokenizer, used as it is."""

    kind: Literal["pretrained"]
    # A path to a `tokenizer.json`, or an id on the Hugging Face Hub such as bert-base-cased.
    name: str = Field(min_length=1)
    # A branch, tag or commit on the Hub; null with a path, or for the Hub's main branch.
    revision: str | None

    @model_validator(mode="after")
    def _a_file_has_no_revision(self) -> Self:
        if self.revision is not None and self.name.endswith(".json"):
            raise ValueError(
                f"revision = {self.revision!r} goes with a Hub id, but name = {self.name!r} is a "
                "file; set revision: null"
            )
        return self


TokenizerSpec = Annotated[
    BpeSpec | UnigramSpec | WordSpec | CharacterSpec | PretrainedSpec, Field(discriminator="kind")
]


class VocabConfig(Section):
    """Either one joint vocabulary, or one for each side."""

    joint: TokenizerSpec | None
    source: TokenizerSpec | None
    target: TokenizerSpec | None
    # Pairs that the vocabulary is fitted on, drawn at random, the same ones each time; null: all.
    max_sentences: int | None = Field(ge=1)

    @model_validator(mode="after")
    def _joint_or_one_per_side(self) -> Self:
        given = {name: getattr(self, name) for name in ("joint", "source", "target")}
        told = {name for name, spec in given.items() if spec is not None}
        if told not in ({"joint"}, {"source", "target"}):
            found = ", ".join(
                f"{name} = {'null' if spec is None else spec.kind}" for name, spec in given.items()
            )
            raise ValueError(
                f"{found}: allowed are joint alone (source and target null), or source and target "
                "both (joint null)"
            )
        return self


class TokenizeConfig(Section):
    """How long a training sequence may be."""

    # A training pair with a longer side, in tokens with the end token, is dropped, then counted.
    # Validation pairs are all kept; those beyond `model.max_positions` don't count in its loss.
    # At most `model.max_positions`.
    max_tokens: int = Field(ge=2)
