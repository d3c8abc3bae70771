"""Tokenizers: text to ids, ids to text."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from transformer.files import atomic_write, read_json, write_json
from transformer.text.casing import ALL_CAPITALS, CAPITAL, is_marked, mark_case, restore_case
from transformer.text.special_tokens import END_OF_VOCABULARY, find_special_ids

META = "meta.json"
JOINT = "tokenizer.json"
SOURCE = "source.json"
TARGET = "target.json"

# How the marks of capitals are shown.
_SIGNS = str.maketrans({CAPITAL: "↑", ALL_CAPITALS: "⇑"})


class Tokenizer:
    """One side's tokenizer. Immutable; safe to share.

    Special tokens never come out of `encode`, whatever the text holds: a literal "</s>" is
    text like any other. They are added by whoever builds a sequence, from the ids here.
    """

    def __init__(self, json: str, where: str = "tokenizer") -> None:
        """Builds a tokenizer from the text of a `tokenizer.json`.

        Raises:
            ValueError: not a tokenizer, or one without the special tokens; `where` is named.
        """
        try:
            self._fast: Any = tokenizers.Tokenizer.from_str(json)
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{where} is not a Hugging Face tokenizer.json: {error}") from error
        # A file may ask for cutting or padding; here no text is ever cut in silence.
        self._fast.no_truncation()
        self._fast.no_padding()
        # True: special tokens standing in the text are encoded as text.
        self._fast.encode_special_tokens = True
        vocabulary: dict[str, int] = self._fast.get_vocab(with_added_tokens=True)
        self.json = json
        self.special = find_special_ids(vocabulary, where)
        # One past the largest id, which is what an embedding table needs; ids may have gaps.
        num_ids = max(vocabulary.values()) + 1
        self.size = vocabulary.get(END_OF_VOCABULARY, num_ids)
        # The file tells by its patterns; any other reader of it has to mark and restore as here.
        self._marks_case = is_marked(json)
        self._control_ids = frozenset(self.special) - {self.special.unk_id}
        self._not_in_text = self._control_ids.union(range(self.size, num_ids))

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Reads a `tokenizer.json`.

        Raises:
            ValueError: the file is missing, no tokenizer, or lacks special tokens.
        """
        return cls(_read(path), str(path))

    def save(self, path: Path) -> None:
        """Writes the very text that this tokenizer was built from."""
        with atomic_write(path) as temporary:
            temporary.write_text(self.json, encoding="utf-8", newline="\n")

    @property
    def pad_id(self) -> int:
        """The id that fills a batch's shorter rows."""
        return self.special.pad_id

    @property
    def unk_id(self) -> int:
        """The id of text that the vocabulary lacks."""
        return self.special.unk_id

    @property
    def bos_id(self) -> int:
        """The id that opens the decoder's input."""
        return self.special.bos_id

    @property
    def eos_id(self) -> int:
        """The id that ends every sequence."""
        return self.special.eos_id

    @property
    def sha256(self) -> str:
        """The SHA-256 of the tokenizer's file, in hexadecimal."""
        return _hash(self.json)

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without start or end token. Empty text gives no ids."""
        return self._as_text(self._fast.encode(self._prepare(text), add_special_tokens=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts at once."""
        prepared = [self._prepare(text) for text in texts]
        encodings = self._fast.encode_batch_fast(prepared, add_special_tokens=False)
        return [self._as_text(encoding.ids) for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`. Padding, start and end tokens are skipped; unknowns show as such."""
        kept = [id for id in ids if id not in self._control_ids]
        text = str(self._fast.decode(kept, skip_special_tokens=False))
        return restore_case(text) if self._marks_case else text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """One readable string per id, for tables; "▁" stands for a space before a piece.

        Where the tokenizer marks capitals, "↑" stands before one and "⇑" before a word of them.
        """
        return [self._piece(id) for id in ids]

    def token(self, id: int) -> str:
        """The piece as the vocabulary has it; an id without one gives ""."""
        return self._fast.id_to_token(id) or ""

    def unknown_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the text is unknown: the character span [begin, end) of each unknown piece."""
        # As it stands: marks would move the spans, and with them nothing is unknown.
        encoding = self._fast.encode(text, add_special_tokens=False)
        ids = self._as_text(encoding.ids)
        return [span for id, span in zip(ids, encoding.offsets, strict=True) if id == self.unk_id]

    def _prepare(self, text: str) -> str:
        return mark_case(text) if self._marks_case else text

    def _as_text(self, ids: list[int]) -> list[int]:
        # A pretrained word vocabulary may hold "[SEP]" as a word: in a text it is unknown text.
        if self._not_in_text.isdisjoint(ids):
            return ids
        return [self.special.unk_id if id in self._not_in_text else id for id in ids]

    def _piece(self, id: int) -> str:
        token = str(self._fast.id_to_token(id))
        if id in self.special:
            return token
        text = str(self._fast.decode([id], skip_special_tokens=False)).strip()
        text = text.translate(_SIGNS) if self._marks_case else text
        return "▁" + text if token[:1] in (" ", "Ġ", "▁") else text


class TokenizerPair:
    """The two sides' tokenizers; one object on both sides when the vocabulary is joint."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self.source = source
        self.target = target

    @classmethod
    def load(cls, folder: Path) -> "TokenizerPair":
        """Reads what `save` wrote.

        Raises:
            ValueError: `meta.json` or a tokenizer is missing, unreadable, damaged or edited.
        """
        path = folder / META
        if not path.is_file():
            raise ValueError(f"{path}: no such file; run the stage `vocab` to make {folder}")
        meta = read_json(path)
        if not isinstance(meta, dict) or not isinstance(meta.get("joint"), bool):
            raise ValueError(f"{path}: 'joint' must be true or false; run the stage `vocab` again")
        names = [JOINT] if meta["joint"] else [SOURCE, TARGET]
        texts = {name: _read(folder / name) for name in names}
        # Before they are read as tokenizers: the library's errors of damaged ones help nobody.
        sha256 = _hash_files(texts)
        if sha256 != meta.get("sha256"):
            raise ValueError(
                f"{', '.join(names)} in {folder}: damaged, or edited: their SHA-256 is {sha256}, "
                f"but {META} has {meta.get('sha256')}; run the stage `vocab` again, "
                f"or `dvc checkout --force {folder}`"
            )
        sides = [Tokenizer(text, str(folder / name)) for name, text in texts.items()]
        return cls(sides[0], sides[-1])

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.json`, or `source.json` with `target.json`; then `meta.json`."""
        for name, tokenizer in self.files.items():
            tokenizer.save(folder / name)
        meta = {
            "joint": self.is_joint,
            "sha256": self.sha256,
            "source": {"size": self.source.size, **self.source.special._asdict()},
            "target": {"size": self.target.size, **self.target.special._asdict()},
        }
        write_json(folder / META, meta)

    @property
    def is_joint(self) -> bool:
        """True: one vocabulary serves both sides, so embeddings may be shared."""
        return self.source is self.target

    @property
    def files(self) -> dict[str, Tokenizer]:
        """The tokenizers by the file name that each is saved under."""
        if self.is_joint:
            return {JOINT: self.source}
        return {SOURCE: self.source, TARGET: self.target}

    @property
    def sha256(self) -> str:
        """One SHA-256 for the pair: over its files' names with their own SHA-256."""
        return _hash_files({name: tokenizer.json for name, tokenizer in self.files.items()})


def _read(path: Path) -> str:
    if not path.is_file():
        raise ValueError(f"{path}: no such tokenizer file")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}") from error


def _hash_files(texts: Mapping[str, str]) -> str:
    lines = [f"{_hash(text)}  {name}\n" for name, text in texts.items()]
    return _hash("".join(lines))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
