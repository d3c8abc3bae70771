"""Fingerprints of sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text import hashing
from transformer.text.hashing import SeenHashes, hash_sentence


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert hash_sentence("Va !") == 8352404273715288434  # b2sum -l 64
    assert 0 <= hash_sentence("") < 1 << 64
    assert hash_sentence("\ud800") != hash_sentence("\ud801")


@given(st.lists(st.integers(0, 30) | st.integers((1 << 64) - 9, (1 << 64) - 1), max_size=60))
def test_seen_is_what_a_set_says(values: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_RECENT", 4)
        seen, reference = SeenHashes(), set[int]()
        for value in values:
            assert seen.add(value) == (value not in reference)
            reference.add(value)
