"""Pairs of id sequences in memory, in the form that batches are made from."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class MemoryPairs:
    """A `transformer.training.batching.Pairs`; ids take four bytes each."""

    def __init__(self, pairs: Iterable[tuple[Integers, Integers]]) -> None:
        """Raises ValueError if there are none."""
        sides: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
        for pair in pairs:
            for side, ids in zip(sides, pair, strict=True):
                side.append(ids.astype(np.int32))
        if not sides[0]:
            raise ValueError(
                "there is no sentence to pretrain on: they were all empty, or longer than "
                "model.max_positions"
            )
        self.source_ids, self.source_offsets, self.source_lengths = _join(sides[0])
        self.target_ids, self.target_offsets, self.target_lengths = _join(sides[1])

    def __len__(self) -> int:
        return len(self.source_lengths)


def _join(sequences: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], Integers, Integers]:
    lengths = np.array([len(ids) for ids in sequences], dtype=np.int64)
    return np.concatenate(sequences), np.concatenate([[0], np.cumsum(lengths)]), lengths
