"""Pairs of id sequences in memory, in the form that batches are made from."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.text.pairs import Integers, PairDataset


class Example(NamedTuple):
    """What the model is to read, and what it is to say of it."""

    source: Integers
    target: Integers
    # Of labels for tokens of the source: their positions, int64 [target length]. None: the target
    # is the decoder's.
    label_positions: Integers | None = None


class InMemoryDataset(PairDataset):
    """Pairs whose ids take four bytes each.

    Args:
        examples: all of them with positions of labels, or none.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, examples: Iterable[Example]) -> None:
        sources, targets, positions = [], [], []
        for example in examples:
            sources.append(example.source.astype(np.int32))
            targets.append(example.target.astype(np.int32))
            if example.label_positions is not None:
                positions.append(example.label_positions)
        if not sources:
            raise ValueError(
                "there is no sentence to pretrain on: they were all empty, or longer than "
                "model.max_positions"
            )
        self.source_ids, self.source_offsets = _join(sources)
        self.target_ids, self.target_offsets = _join(targets)
        self.label_positions = np.concatenate(positions) if positions else None


def _join(sequences: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], Integers]:
    offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    return np.concatenate(sequences), offsets
