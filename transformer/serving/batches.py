"""Batches of sentences of like length."""

from collections.abc import Sequence

# Rows of fewer tokens cost as much as this many: the decoder's work doesn't shrink with them.
MIN_LENGTH = 16


def plan_batches(lengths: Sequence[int], max_slots: int) -> list[list[int]]:
    """Groups indices so that little is padding: longest first, equal lengths in their order.

    Args:
        lengths: of each row, in tokens.
        max_slots: rows times the longest row's length, at most. A row that is longer by itself
            makes a batch of one.

    Returns:
        Batches of indices into `lengths`; each index stands in exactly one.
    """
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if room == 0:
            batches.append([])
            room = max(1, max_slots // max(MIN_LENGTH, lengths[index]))
        batches[-1].append(index)
        room -= 1
    return batches
