"""The `corpus` section: where parallel text comes from.

What a kind reads (`TextSource`) makes a corpus of its own, with languages and a split
(`TextCorpus`), or a part of one of several, with a weight (`TextPart`).
"""

import re
from pathlib import PurePath
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from transformer.config import Section
from transformer.urls import hide_secrets

# A language code in the way of BCP 47: fr, zh-Hans, pt_BR.
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}([-_][A-Za-z0-9]+)*$")]
Name = Annotated[str, Field(min_length=1)]
# No slash, which parts it from the place within it; no dot, which parts keys in `--set`.
PartName = Annotated[str, Field(pattern=r"^[^/.\s]+$")]


_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


class SplitConfig(Section):
    """How the parts that a corpus lacks are taken from its training text."""

    # Exact sizes; whole groups of pairs that share a sentence go to one part.
    valid_pairs: int = Field(ge=1)
    test_pairs: int = Field(ge=1)
    seed: int = Field(ge=0)
    # A regular expression: pairs at the beginning of whose origin it matches the same text are not
    # divided between the parts. Null: only shared sentences hold pairs together.
    origin_pattern: str | None

    @field_validator("origin_pattern")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"{pattern!r}: no regular expression ({error})") from None
        return pattern


class TextFiles(Section):
    """Two line-aligned files, plain or gzipped: below `path`, or in it where it is a zip."""

    source: Name
    target: Name


class _Corpus(Section):
    """What every corpus says of itself."""

    name: Name
    source_language: Language
    target_language: Language
    # The file or folder that is read, or that DVC watches where the text comes from elsewhere.
    path: Name


class _Source(Section):
    """What is read, whether it is a corpus or a part of one."""

    # Goes into the manifest, then onto the model card.
    license: Name
    path: Name


class _Part(Section):
    """A part of a corpus; its `path` is below the corpus's."""

    # How often each of its training pairs comes: 2 is twice, 0.5 every other one by chance.
    weight: float = Field(gt=0, le=1000)


class PhrasebookCorpus(_Source, _Corpus):
    """Sentences made by the grammar in the folder `path`."""

    kind: Literal["phrasebook"]
    # They are all held in memory.
    num_pairs: int = Field(ge=1, le=2 * 10**7)
    seed: int = Field(ge=0)


class TextSource(_Source):
    """Line-aligned files: line n of one is the translation of line n of the other."""

    kind: Literal["text"]
    train: TextFiles
    valid: TextFiles | None
    test: TextFiles | None


class TextCorpus(TextSource, _Corpus):
    """Such files as a corpus."""

    # Null when no part is missing.
    split: SplitConfig | None

    @model_validator(mode="after")
    def _split_what_is_missing(self) -> Self:
        _check_split(self.split, valid=self.valid is not None, test=self.test is not None)
        return self


class TextPart(TextSource, _Part):
    """Such files as a part of a corpus."""


class TabularSource(_Source):
    """A tab-separated file, plain, gzipped or in a zip, such as manythings.org/anki ships."""

    kind: Literal["tabular"]
    # Null: read `path`.
    url: str | None = Field(pattern=r"^https?://")
    # What the file's SHA-256 has to be; null: whatever it is, and the manifest tells.
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$")
    # The file inside a zip. Null: the only one besides notes such as _about.txt.
    member: str | None
    # Counted from 1.
    source_column: int = Field(ge=1)
    target_column: int = Field(ge=1)
    # Says where a pair came from, such as a document; null: no column does.
    origin_column: int | None = Field(ge=1)

    @field_validator("url")
    @classmethod
    def _is_a_url_without_a_password(cls, url: str | None) -> str | None:
        if url is None:
            return url
        try:
            parts = urlsplit(url)
            is_url = bool(parts.hostname) and parts.port != 0 and url.isascii() and " " not in url
        except ValueError:  # a port that is no number, an unclosed bracket
            is_url = False
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ValueError(
                f"{hide_secrets(url)}: user and password don't belong into params.yaml, which git "
                "keeps; fetch the file by hand, set path to it and url to null"
            )
        if not is_url:
            raise ValueError(f"{url!r}: not a URL such as https://example.org/corpus.tsv")
        return url

    @model_validator(mode="after")
    def _comes_as_it_was_sent(self) -> Self:
        parts = urlsplit(self.url or "")
        is_plain = parts.scheme == "http" and parts.hostname not in _OWN_MACHINE
        if is_plain and self.sha256 is None:
            raise ValueError(
                f"url = {hide_secrets(str(self.url))}: what comes by http can be changed on its "
                "way; write https, or set sha256 to what the file has to have"
            )
        return self

    @model_validator(mode="after")
    def _two_columns(self) -> Self:
        if self.source_column == self.target_column:
            raise ValueError(
                f"source_column = {self.source_column} equals target_column = "
                f"{self.target_column}; name two different columns"
            )
        return self


class TabularCorpus(TabularSource, _Corpus):
    """Such a file as a corpus."""

    split: SplitConfig


class TabularPart(TabularSource, _Part):
    """Such a file as a part of a corpus."""

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if self.url is not None and self.sha256 is None:
            raise ValueError("sha256 = null: a part that comes by url needs it")
        return self


class LocalizationSource(_Source):
    """TMX, XLIFF, PO and MO files; read by translate-toolkit."""

    kind: Literal["localization"]
    # A pattern for the files below `path`, such as **/de.po; null: `path` is the file.
    files: Name | None
    # The language of the messages in PO and MO files; null: there are no such files.
    message_language: Language | None


class LocalizationCorpus(LocalizationSource, _Corpus):
    """Such files as a corpus."""

    split: SplitConfig


class LocalizationPart(LocalizationSource, _Part):
    """Such files as a part of a corpus."""


class HubSource(_Source):
    """A Hugging Face dataset, from the Hub or from a local folder in the same layout."""

    kind: Literal["hub"]
    # An id such as bentrevett/multi30k. Null: the local folder `path`.
    dataset: str | None = Field(min_length=1)
    # One of the dataset's configurations; null: its only one.
    config: str | None = Field(min_length=1)
    # A branch, tag or commit; null: the newest, so not reproducible.
    revision: str | None = Field(min_length=1)
    # Splits or slices as the library `datasets` writes them, such as train[:10000].
    train: Name
    valid: Name | None
    test: Name | None
    # A column that holds a mapping such as {"de": ..., "en": ...}; null: two plain columns.
    translation_column: str | None = Field(min_length=1)
    # Columns, or keys of the mapping in `translation_column`.
    source_column: Name
    target_column: Name

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.source_column == self.target_column:
            raise ValueError(
                f"source_column = {self.source_column!r} equals target_column = "
                f"{self.target_column!r}; name two different columns"
            )
        if self.dataset is None and self.revision is not None:
            raise ValueError(
                f"revision = {self.revision!r} goes with a dataset on the Hub, but dataset = null "
                "reads the local folder `path`; set revision: null"
            )
        return self


class HubCorpus(HubSource, _Corpus):
    """Such a dataset as a corpus."""

    # Null when no part is missing.
    split: SplitConfig | None

    @model_validator(mode="after")
    def _split_what_is_missing(self) -> Self:
        _check_split(self.split, valid=self.valid is not None, test=self.test is not None)
        return self


class HubPart(HubSource, _Part):
    """Such a dataset as a part of a corpus."""

    @model_validator(mode="after")
    def _is_pinned(self) -> Self:
        if self.dataset is not None and self.revision is None:
            raise ValueError("revision = null: a part that comes from the Hub needs it")
        return self


CorpusPart = Annotated[
    TextPart | TabularPart | LocalizationPart | HubPart, Field(discriminator="kind")
]


class MixedCorpus(_Corpus):
    """Several of them as one corpus."""

    kind: Literal["mixed"]
    # By name; their paths are below the corpus's.
    parts: dict[PartName, CorpusPart] = Field(min_length=1)
    # Null when parts bring both validation and test text.
    split: SplitConfig | None

    @field_validator("parts")
    @classmethod
    def _are_watched(cls, parts: dict[str, CorpusPart]) -> dict[str, CorpusPart]:
        for name, part in parts.items():
            path = PurePath(part.path)
            if path.is_absolute() or ".." in path.parts:
                raise ValueError(f"{name}.path = {part.path!r}: not below the corpus's path")
        return parts

    @model_validator(mode="after")
    def _split_what_is_missing(self) -> Self:
        brought = {
            name: any(getattr(part, name, None) is not None for part in self.parts.values())
            for name in ("valid", "test")
        }
        _check_split(self.split, **brought)
        return self


CorpusConfig = Annotated[
    PhrasebookCorpus | TextCorpus | TabularCorpus | LocalizationCorpus | HubCorpus | MixedCorpus,
    Field(discriminator="kind"),
]


def _check_split(split: SplitConfig | None, *, valid: bool, test: bool) -> None:
    missing = [name for name, there in (("valid", valid), ("test", test)) if not there]
    if missing and split is None:
        raise ValueError(
            f"{' and '.join(missing)} = null, but split = null too; name the part, or set "
            "split: {valid_pairs, test_pairs, seed, origin_pattern} to take it from training text"
        )
    if not missing and split is not None:
        raise ValueError(
            "split is set, but neither valid nor test is missing, so it would be ignored; "
            "set split: null"
        )
