"""Batches hold every row once, within their budget."""

import random

import pytest

from transformer.serving.batches import MIN_LENGTH, plan_batches


@pytest.mark.parametrize("max_slots", [1, 100, 4096])
def test_every_row_stands_in_one_batch_within_the_budget(max_slots):
    draw = random.Random(0)
    lengths = [draw.randint(1, 90) for _ in range(300)]
    batches = plan_batches(lengths, max_slots)
    assert sorted(index for batch in batches for index in batch) == list(range(300))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= max_slots


def test_rows_of_like_length_go_together():
    assert plan_batches([20, 40, 20, 40], 80) == [[1, 3], [0, 2]]


def test_short_rows_do_not_make_endless_batches():
    assert max(map(len, plan_batches([1] * 100, 10 * MIN_LENGTH))) == 10


def test_nothing_needs_no_batch():
    assert plan_batches([], 100) == []
