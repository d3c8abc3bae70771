"""Pairs of token id sequences, wherever they lie: what training and the short-lists read."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class PairDataset(Protocol):
    """Pairs of id sequences, such as `transformer.text.ids.IdsSplit` maps from disk.

    Sentence i of a side is `ids[offsets[i] : offsets[i + 1]]`, its end token included; lengths are
    int64 [number of pairs], in tokens.
    """

    source_ids: NDArray[Any]
    source_offsets: NDArray[Any]
    source_lengths: Integers
    target_ids: NDArray[Any]
    target_offsets: NDArray[Any]
    target_lengths: Integers
    # Where the target is no sentence but labels for tokens of the source: the position of each
    # target id's token in its source, int64 [number of target ids].
    label_positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.source_lengths)

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
