"""Which sentences are translated when: pure choices, the same in every run."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# Slow contenders translate one batch of so many, but so many batches at least.
FEW_SHARE = 5
MIN_FEW = 3


class Cell(NamedTuple):
    """One column of the table."""

    batch_size: int
    beam_size: int


def spread(items: Sequence[T], count: int) -> list[T]:
    """`count` of the items at even distances, first and last half a distance from the ends."""
    count = min(count, len(items))
    return [items[(2 * place + 1) * len(items) // (2 * count)] for place in range(count)]


def length_batches(
    indices: Sequence[int], lengths: Sequence[int], batch_size: int
) -> list[list[int]]:
    """The indices in batches of one size, the longest sentences first; the last may be smaller."""
    order = sorted(indices, key=lambda index: (-lengths[index], index))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def few(batches: Sequence[list[int]]) -> list[list[int]]:
    """Some of the batches, evenly spaced over their lengths, for contenders that are slow."""
    return spread(batches, max(MIN_FEW, -(-len(batches) // FEW_SHARE)))


def interleave(
    cells: Sequence[Cell], contenders: Sequence[T], num_rounds: int
) -> Iterator[tuple[int, Cell, T]]:
    """Round, cell and contender of each measurement.

    Each round takes the cells in an order of its own; within a cell the contenders follow one
    another, and another one begins each time, so that no drift of the machine favours anyone.
    """
    first = 0
    for round_index in range(num_rounds):
        order = list(cells)
        random.Random(round_index).shuffle(order)
        for cell in order:
            for contender in (*contenders[first:], *contenders[:first]):
                yield round_index, cell, contender
            first = (first + 1) % len(contenders)
