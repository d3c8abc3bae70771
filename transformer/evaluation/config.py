"""The `evaluate` section: how test sets are translated, scored, pictured."""

from itertools import pairwise
from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from transformer.config import Section
from transformer.text.noise import NoiseKind

# Of files that an evaluation writes beside those of the sets, and of the test set itself.
_OTHER_FILES = ("scores", "test")
# Columns of tables and entries of reports, which a quality estimate stands beside.
_OTHER_COLUMNS = (
    *("source", "reference", "translation", "score", "bleu", "chrf", "ter"),
    *("sets", "signatures", "quality", "sha256"),
)


def _is_in_folder(name: str) -> str:
    if PurePath(name).name != name:
        raise ValueError(
            f"{name!r}: give the name of a file in data/sets, and put or link it there"
        )
    return name


# A file, plain or gzipped, in `data/sets`, which the stages depend on.
FileName = Annotated[str, Field(min_length=1), AfterValidator(_is_in_folder)]
# It names files, and figures as `NAME.bleu`.
SetName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=40)]


class PartSet(Section):
    """A part of the corpus."""

    kind: Literal["part"]
    part: Literal["valid", "test"]


class FilesSet(Section):
    """Line n of one file is the translation of line n of the other."""

    kind: Literal["files"]
    source: FileName
    target: FileName


class SacrebleuSet(Section):
    """One that sacreBLEU fetches, in the corpus's languages; of several references the first."""

    kind: Literal["sacrebleu"]
    # As `sacrebleu --list` has it, such as wmt14.
    name: str = Field(min_length=1)


class NoiseSet(Section):
    """The test part, with noise on each source that such noise can change."""

    kind: Literal["noise"]
    noise: NoiseKind
    # Of the typos; no other kind has a choice.
    seed: int = Field(ge=0)


SetConfig = Annotated[
    PartSet | FilesSet | SacrebleuSet | NoiseSet,
    Field(discriminator="kind"),
]


class QualityConfig(Section):
    """An estimate for each translation, such as COMET's, from a command of the user's."""

    # Of its column and figures.
    name: str = Field(pattern=r"^[a-z][a-z0-9]*$", max_length=20)
    # The shell runs it: lines `source<TAB>translation<TAB>reference` in, a number a line out.
    command: str = Field(min_length=1)

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if name in _OTHER_COLUMNS:
            raise ValueError(f"{name!r}: has another meaning in the reports; take another name")
        return name


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
    # What else is translated and scored, by name.
    sets: dict[SetName, SetConfig]
    # An estimate from outside, of the test set and of each of `sets`; null: none.
    quality: QualityConfig | None

    @field_validator("sets")
    @classmethod
    def _names_are_free(cls, sets: dict[str, SetConfig]) -> dict[str, SetConfig]:
        for name in sets:
            if name in _OTHER_FILES:
                raise ValueError(f"{name}: the reports have a file of this name; take another one")
        return sets

    @model_validator(mode="after")
    def _edges_rise(self) -> Self:
        edges = [0, *self.length_bins]
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError(
                f"length_bins = {self.length_bins} must be positive and strictly rising, "
                "such as [5, 10, 20]"
            )
        return self
