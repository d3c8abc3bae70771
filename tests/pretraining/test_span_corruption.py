"""Span corruption: nothing is lost, and as much goes as was asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.pretraining.span_corruption import corrupt_spans

SENTINELS = np.arange(1000, 1100)


def corrupt(ids, seed=0, sentinels=SENTINELS, noise_density=0.15, mean_span_length=3.0):
    generator = np.random.default_rng(seed)
    return corrupt_spans(
        np.asarray(ids),
        sentinels,
        generator,
        noise_density=noise_density,
        mean_span_length=mean_span_length,
    )


@given(
    length=st.integers(1, 60),
    seed=st.integers(0, 99),
    noise_density=st.floats(0.01, 0.99),
    mean_span_length=st.floats(1, 9),
    num_sentinels=st.integers(1, 5),
)
def test_source_and_target_together_hold_the_sentence(
    restore_spans, length, seed, noise_density, mean_span_length, num_sentinels
):
    ids, sentinels = np.arange(length), SENTINELS[:num_sentinels]
    found = corrupt(ids, seed, sentinels, noise_density, mean_span_length)
    assert restore_spans(found, sentinels).tolist() == ids.tolist()


@given(length=st.integers(2, 60), seed=st.integers(0, 99), noise_density=st.floats(0.01, 0.99))
def test_the_share_is_met_and_a_token_stays(length, seed, noise_density):
    found = corrupt(np.arange(length), seed, noise_density=noise_density)
    num_cut = int((found.target < 1000).sum())
    assert num_cut == min(max(1, round(noise_density * length)), length - 1)


@given(seed=st.integers(0, 99))
def test_sentinels_come_in_order_once_on_each_side_and_spans_do_not_touch(seed):
    found = corrupt(np.arange(40), seed, noise_density=0.3)
    expected = [1000, 1001, 1002, 1003]  # 12 tokens in spans of 3
    for side in found:
        assert side[side >= 1000].tolist() == expected
    is_sentinel = found.source >= 1000
    assert not (is_sentinel[1:] & is_sentinel[:-1]).any()


def test_spans_have_the_mean_asked_for_and_various_lengths():
    lengths = []
    for seed in range(200):
        target = corrupt(np.arange(100), seed).target
        lengths += (np.diff([*np.flatnonzero(target >= 1000), len(target)]) - 1).tolist()
    assert min(lengths) >= 1
    assert np.mean(lengths) == pytest.approx(3, abs=0.05)
    assert len(set(lengths)) > 4


def test_every_place_is_cut_about_as_often():
    """The first token and the last one too."""
    cut = np.zeros(10)
    for seed in range(4000):
        target = corrupt(np.arange(10), seed, noise_density=0.3, mean_span_length=1.5).target
        cut[target[target < 1000]] += 1
    assert cut.sum() == 4000 * 3
    assert (cut / cut.mean()).min() > 0.6


def test_the_same_generator_gives_the_same_spans():
    assert corrupt(np.arange(50), 3).source.tolist() == corrupt(np.arange(50), 3).source.tolist()
    assert corrupt(np.arange(50), 3).source.tolist() != corrupt(np.arange(50), 4).source.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": []}, "an empty sentence has no spans"),
        ({"sentinels": SENTINELS[:0]}, "needs a sentinel"),
        ({"noise_density": 1.0}, r"noise_density = 1.0: must lie between 0 and 1"),
        ({"mean_span_length": 0.5}, r"mean_span_length = 0.5: must be 1 or more"),
    ],
)
def test_what_can_not_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        corrupt(**({"ids": np.arange(5)} | changes))
