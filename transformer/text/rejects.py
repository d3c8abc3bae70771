"""What was rejected for which reason, and a sample of it."""

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from transformer.text.filters import REASONS

# [N, 2]: the line of the raw training part, from 1, and which of its sentences, from 0.
Places = NDArray[np.int64]


class Rejects:
    """The places of rejected pairs by reason, 16 bytes each; the text stays where it is.

    Args:
        num_origins: of as many origins, numbered from 0, pairs are told apart.
    """

    def __init__(self, num_origins: int) -> None:
        self._places: dict[str, list[list[Places]]] = {
            reason: [[] for _ in range(num_origins)] for reason in REASONS
        }

    def add(self, reason: str, origin: int, places: Places) -> None:
        """Notes what a reason took of an origin, behind what it took before."""
        self._places[reason][origin].append(places)

    def count(self, origin: int) -> dict[str, int]:
        """How many pairs of an origin each reason took, zeros included."""
        return {reason: sum(map(len, found[origin])) for reason, found in self._places.items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs each reason took, zeros included."""
        return {
            reason: sum(len(one) for places in found for one in places)
            for reason, found in self._places.items()
        }

    def sample(self, size: int, seed: int) -> Iterator[tuple[str, int, int]]:
        """At most `size` of each reason and origin, drawn at random: reason, line, sentence."""
        for reason, found in self._places.items():
            for places in map(np.concatenate, filter(None, found)):
                for row in sample_rows(len(places), size, Random(seed)):
                    line, sentence = places[row].tolist()
                    yield reason, line, sentence


def sample_rows(count: int, size: int, random: Random) -> list[int]:
    """A uniform random sample of `range(count)` (Vitter 1985, algorithm R)."""
    kept = list(range(min(count, size)))
    for row in range(len(kept), count):
        if (place := random.randrange(row + 1)) < size:
            kept[place] = row
    return kept
