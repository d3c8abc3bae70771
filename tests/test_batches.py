"""Batches hold every row once, within their budget."""

import random

import pytest

from transformer.batches import length_batches


@pytest.mark.parametrize("max_tokens", [1, 100, 4096])
def test_every_row_stands_in_one_batch_within_the_budget(max_tokens):
    draw = random.Random(0)
    lengths = [draw.randint(1, 90) for _ in range(300)]
    batches = length_batches(lengths, max_tokens)
    assert sorted(index for batch in batches for index in batch) == list(range(300))
    longest = [max(lengths[index] for index in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest, strict=True):
        assert len(batch) == 1 or len(batch) * length <= max_tokens


def test_rows_of_like_length_go_together():
    assert length_batches([20, 40, 20, 40], 80) == [[1, 3], [0, 2]]


def test_short_rows_do_not_make_endless_batches():
    assert max(map(len, length_batches([1] * 100, 160, min_length=16))) == 10


def test_nothing_needs_no_batch():
    assert length_batches([], 100) == []
