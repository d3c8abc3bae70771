"""Pairs of token id sequences, wherever they lie: what training and the short-lists read."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_BLOCK = 1 << 20


class Lengths:
    """Lengths of sentences in tokens, int64 [N], worked out from offsets where they are asked for.

    All of a large corpus don't lie in memory at once, unless `numpy.asarray` is to have them.
    """

    def __init__(self, offsets: NDArray[Any]) -> None:
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, rows: Integers | slice) -> Integers:
        """Of some sentences: by their numbers, or a run of them."""
        if not isinstance(rows, slice):
            return np.asarray(self._offsets[rows + 1] - self._offsets[rows])
        start, stop, step = rows.indices(len(self))
        return np.diff(np.asarray(self._offsets[start : max(start, stop) + 1]))[::step]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Integers:
        return self[:]

    def sum(self) -> int:
        """All tokens."""
        return int(self._offsets[-1]) - int(self._offsets[0])

    def max(self) -> int:
        """Of the longest sentence."""
        return max(int(self[rows].max()) for rows in blocks(len(self)))


# What can be had by `[numbers]`, `[start:stop]`, `len`, `sum` and `max`.
SomeLengths = Integers | Lengths


def blocks(length: int) -> Iterator[slice]:
    """Runs that cover `range(length)`, of a size that costs little memory and little time."""
    return (slice(start, min(start + _BLOCK, length)) for start in range(0, length, _BLOCK))


class PairDataset(Protocol):
    """Pairs of id sequences, such as `transformer.text.ids.IdsSplit` maps from disk.

    Sentence i of a side is `ids[offsets[i] : offsets[i + 1]]`, its end token included.
    """

    source_ids: NDArray[Any]
    source_offsets: NDArray[Any]
    target_ids: NDArray[Any]
    target_offsets: NDArray[Any]
    # Where the target is no sentence but labels for tokens of the source: the position of each
    # target id's token in its source, int64 [number of target ids].
    label_positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    @property
    def source_lengths(self) -> Lengths:
        """Tokens of each source, its end token included."""
        return Lengths(self.source_offsets)

    @property
    def target_lengths(self) -> Lengths:
        """Tokens of each target, its end token included."""
        return Lengths(self.target_offsets)

    def source(self, index: int) -> NDArray[Any]:
        """The ids of source sentence `index`, closed by the end token."""
        return _sentence(self.source_ids, self.source_offsets, index)

    def target(self, index: int) -> NDArray[Any]:
        """The ids of target sentence `index`, closed by the end token."""
        return _sentence(self.target_ids, self.target_offsets, index)


def _sentence(ids: NDArray[Any], offsets: NDArray[Any], index: int) -> NDArray[Any]:
    count = len(offsets) - 1
    if not 0 <= index < count:
        raise IndexError(f"sentence {index} of {count}")
    return np.asarray(ids[int(offsets[index]) : int(offsets[index + 1])])
