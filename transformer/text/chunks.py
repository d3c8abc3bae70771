"""Texts as chunks between spaces: a corpus has few different ones, and each is worked on once.

The expressions that cut a text into pieces (`transformer.text.pieces`) take most of the time of
fitting and of tokenizing; here they see a chunk once, not at each of its places.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from transformer.text import pieces
from transformer.text.tokenizer import Tokenizer

# Chunks whose ids are remembered, some 40 MB; beyond it they are forgotten, and worked out again.
MAX_REMEMBERED = 1 << 18


class ChunkCounts(NamedTuple):
    """How often each chunk stands first in a text, and elsewhere, where a space is before it."""

    first: Counter[str]
    later: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "ChunkCounts":
        """Counts those of normalised texts."""
        counts = cls(Counter(), Counter())
        for text in texts:
            first, space, rest = text.partition(" ")
            counts.first[first] += 1
            if space:
                counts.later.update(rest.split(" "))
        return counts

    def add(self, other: "ChunkCounts") -> None:
        """Adds what was counted elsewhere."""
        self.first.update(other.first)
        self.later.update(other.later)


class ChunkEncoder:
    """Ids of normalised texts, as `Tokenizer.encode` gives them, by way of their chunks.

    Args:
        tokenizer: one that was not fitted here may look past a space, and is given whole texts.
        dtype: of the ids, such as `<u2`.
    """

    def __init__(self, tokenizer: Tokenizer, dtype: str) -> None:
        self._tokenizer = tokenizer
        self._dtype = dtype
        self._first = _Remembered(lambda chunk: self._as_bytes(tokenizer.encode(chunk)))
        self._later: _Remembered | None = None
        # Without the normalizer, which would put a space before the one that is there.
        if (bare := _without_normalizer(tokenizer)) is not None:
            self._later = _Remembered(lambda chunk: self._as_bytes(bare.encode(" " + chunk)))

    def encode_batch(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of each text one after the other, without start or end token."""
        if self._later is None:
            return [self._as_bytes(ids) for ids in self._tokenizer.encode_batch(texts)]
        later = self._later.__getitem__
        found = []
        for text in texts:
            first, space, rest = text.partition(" ")
            ids = self._first[first]
            found.append(ids + b"".join(map(later, rest.split(" "))) if space else ids)
        return found

    def _as_bytes(self, ids: list[int]) -> bytes:
        return np.array(ids, dtype=self._dtype).tobytes()


class _Remembered(dict[str, bytes]):
    def __init__(self, encode: Callable[[str], bytes]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, chunk: str) -> bytes:
        if len(self) == MAX_REMEMBERED:
            self.clear()
        ids = self[chunk] = self._encode(chunk)
        return ids


def _without_normalizer(tokenizer: Tokenizer) -> Tokenizer | None:
    # None: it may look past a space, for all that is known here.
    value: dict[str, Any] = json.loads(tokenizer.json)
    cut, normalizer = value["pre_tokenizer"] or {}, value["normalizer"] or {}
    first = cut.get("pretokenizers", [cut])[0]
    begins = normalizer.get("normalizers", [{}])[0]
    if first.get("pattern") not in [{"Regex": expression} for expression in pieces.ALL]:
        return None
    if normalizer and begins != {"type": "Prepend", "prepend": " "}:
        return None
    return Tokenizer(json.dumps(value | {"normalizer": None}))
