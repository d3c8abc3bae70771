"""Next-sentence prediction: half of the pairs follow, the other half don't."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.pretraining.next_sentence import pair_lines


@given(num_lines=st.integers(3, 40), seed=st.integers(0, 99))
def test_half_of_the_pairs_follow_and_no_other_does(num_lines, seed):
    first, second, is_next = pair_lines(num_lines, np.random.default_rng(seed))
    assert first.tolist() == list(range(num_lines - 1))
    assert ((second == first + 1) == is_next).all()
    assert is_next.sum() == num_lines // 2
    assert (second != first).all()
    assert ((second >= 0) & (second < num_lines)).all()


def test_other_lines_are_equally_likely():
    counts = np.zeros(6)
    for seed in range(6000):
        _, second, is_next = pair_lines(6, np.random.default_rng(seed))
        if not is_next[2]:
            counts[second[2]] += 1
    assert counts[[2, 3]].sum() == 0
    assert np.abs(counts[[0, 1, 4, 5]] / counts.sum() - 0.25).max() < 0.03


def test_too_few_lines_are_refused():
    with pytest.raises(ValueError, match="2 lines have no two that don't follow"):
        pair_lines(2, np.random.default_rng(0))
