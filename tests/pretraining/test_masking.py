"""Masked language modelling: who is selected, and what becomes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.pretraining.masking import mask_tokens

MASK, ORDINARY = 99, np.arange(50, 60)


def mask(ids, seed=0, mask_probability=0.15):
    return mask_tokens(
        np.asarray(ids),
        MASK,
        ORDINARY,
        np.random.default_rng(seed),
        mask_probability=mask_probability,
    )


@given(length=st.integers(1, 80), seed=st.integers(0, 99), mask_probability=st.floats(0.01, 1))
def test_what_is_not_selected_stays_and_the_share_is_met(length, seed, mask_probability):
    ids = np.arange(length)
    found = mask(ids, seed, mask_probability)
    assert found.is_selected.sum() == max(1, round(mask_probability * length))
    assert (found.ids == ids)[~found.is_selected].all()
    changed = found.ids[found.is_selected & (found.ids != ids)]
    assert set(changed.tolist()) <= {MASK, *ORDINARY.tolist()}
    assert ids.tolist() == list(range(length))


def test_of_the_selected_80_per_cent_are_masked_10_replaced_10_kept():
    ids = np.zeros(100_000, dtype=np.int64)
    found = mask(ids, mask_probability=0.5)
    seen = found.ids[found.is_selected]
    assert np.mean(seen == MASK) == pytest.approx(0.8, abs=0.01)
    assert np.mean(seen == 0) == pytest.approx(0.1, abs=0.01)
    assert np.mean(np.isin(seen, ORDINARY)) == pytest.approx(0.1, abs=0.01)


def test_selection_and_fate_are_drawn_apart():
    """Each place is selected about as often, and masked as often where it is."""
    selected, masked = np.zeros(20), np.zeros(20)
    for seed in range(3000):
        found = mask(np.arange(20), seed)
        selected += found.is_selected
        masked += found.ids == MASK
    assert selected.sum() == 3000 * 3
    assert np.abs(selected / selected.mean() - 1).max() < 0.2
    assert np.abs(masked / selected - 0.8).max() < 0.1


@pytest.mark.parametrize(("ids", "mask_probability"), [([], 0.1), ([1, 2], 0.0), ([1, 2], 1.5)])
def test_what_can_not_be_is_refused(ids, mask_probability):
    with pytest.raises(ValueError, match=r"empty sentence|mask_probability = "):
        mask(ids, mask_probability=mask_probability)
