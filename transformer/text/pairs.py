"""Pairs of token id sequences, wherever they lie: what training and the short-lists read."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class PairDataset(Protocol):
    """Pairs of id sequences, such as `transformer.text.ids.IdsSplit` maps from disk.

    Sentence i of a side is `ids[offsets[i] : offsets[i + 1]]`, its end mark included; lengths are
    int64 [number of pairs].
    """

    source_ids: NDArray[Any]
    source_offsets: NDArray[Any]
    source_lengths: Integers
    target_ids: NDArray[Any]
    target_offsets: NDArray[Any]
    target_lengths: Integers
    # Where the target is no sentence but labels for tokens of the source: the position of each
    # target id's token in its source, int64 [number of target ids].
    label_positions: Integers | None

    def __len__(self) -> int:
        """The number of pairs."""
