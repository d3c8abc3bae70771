"""A series cut into batches."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def batched(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Items in lists of `size`, in their order; the last list may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def length_batches(lengths: Sequence[int], max_tokens: int, min_length: int = 1) -> list[list[int]]:
    """Groups indices so that little is padding: longest first, equal lengths in their order.

    Args:
        lengths: of each row, in tokens.
        max_tokens: rows times the longest row's length, at most. A row that is longer by itself
            makes a batch of one.
        min_length: a row that is shorter counts as one of this length.

    Returns:
        Batches of indices into `lengths`; each index stands in exactly one.
    """
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if room == 0:
            batches.append([])
            room = max(1, max_tokens // max(min_length, lengths[index]))
        batches[-1].append(index)
        room -= 1
    return batches
