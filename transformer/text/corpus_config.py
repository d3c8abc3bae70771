"""The `corpus` section: where parallel text comes from."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from transformer.config import Section
from transformer.urls import hide_secrets

# A language code in the way of BCP 47: fr, zh-Hans, pt_BR.
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}([-_][A-Za-z0-9]+)*$")]
Name = Annotated[str, Field(min_length=1)]


_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


class SplitConfig(Section):
    """How the parts that a corpus lacks are taken from its training text."""

    # Exact sizes; whole groups of pairs that share a sentence go to one part.
    valid_pairs: int = Field(ge=1)
    test_pairs: int = Field(ge=1)
    seed: int = Field(ge=0)


class TextFiles(Section):
    """Two line-aligned files, plain or gzipped, relative to the corpus's `path`."""

    source: Name
    target: Name


class _Corpus(Section):
    """What every kind of corpus says of itself."""

    name: Name
    source_language: Language
    target_language: Language
    # Goes into the manifest, then onto the model card.
    license: Name
    # The file or folder that is read, or that DVC watches where the text comes from elsewhere.
    path: Name


class PhrasebookCorpus(_Corpus):
    """Sentences made by the grammar in the folder `path`."""

    kind: Literal["phrasebook"]
    # They are all held in memory.
    num_pairs: int = Field(ge=1, le=2 * 10**7)
    seed: int = Field(ge=0)


class TextCorpus(_Corpus):
    """Line-aligned files: line n of one is the translation of line n of the other."""

    kind: Literal["text"]
    train: TextFiles
    valid: TextFiles | None
    test: TextFiles | None
    # Null when no part is missing.
    split: SplitConfig | None

    @model_validator(mode="after")
    def _split_what_is_missing(self) -> Self:
        _check_split(self.split, valid=self.valid is not None, test=self.test is not None)
        return self


class TabularCorpus(_Corpus):
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
    split: SplitConfig

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


class HubCorpus(_Corpus):
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
    # Null when no part is missing.
    split: SplitConfig | None

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        _check_split(self.split, valid=self.valid is not None, test=self.test is not None)
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


CorpusConfig = Annotated[
    PhrasebookCorpus | TextCorpus | TabularCorpus | HubCorpus, Field(discriminator="kind")
]


def _check_split(split: SplitConfig | None, *, valid: bool, test: bool) -> None:
    missing = [name for name, there in (("valid", valid), ("test", test)) if not there]
    if missing and split is None:
        raise ValueError(
            f"{' and '.join(missing)} = null, but split = null too; name the part, or set "
            "split: {valid_pairs, test_pairs, seed} to take it from the training text"
        )
    if not missing and split is not None:
        raise ValueError(
            "split is set, but neither valid nor test is missing, so it would be ignored; "
            "set split: null"
        )
