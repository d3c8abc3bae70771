"""Short fingerprints of sentences."""

import hashlib
from array import array
from bisect import bisect_left

import numpy as np

# Numbers that a `SeenHashes` holds in a set, until it sorts them into its array.
_RECENT = 1 << 18


def hash_sentence(sentence: str) -> int:
    """64 bits of BLAKE2b, alike on every machine; two sentences collide once in 2^64."""
    # Halves of surrogate pairs can't be encoded strictly; a fingerprint takes them as they are.
    data = sentence.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class SeenHashes:
    """Fingerprints met so far, in eight bytes each; a set of them takes ten times as much."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = array("Q")

    def add(self, value: int) -> bool:
        """Remembers a fingerprint; True if it is new."""
        if value in self._recent:
            return False
        place = bisect_left(self._sorted, value)
        if place < len(self._sorted) and self._sorted[place] == value:
            return False
        self._recent.add(value)
        if len(self._recent) >= _RECENT:
            old = np.frombuffer(self._sorted, dtype=np.uint64)
            new = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            merged = np.sort(np.concatenate([old, new]), kind="stable")
            self._sorted, self._recent = array("Q", merged.tobytes()), set()
        return True
