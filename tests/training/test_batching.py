import hashlib

import numpy as np
import pytest
import torch

from tests.training.conftest import dataset
from transformer.pretraining.in_memory_dataset import Example, InMemoryDataset
from transformer.text import pairs as pairs_module
from transformer.text.pairs import Lengths
from transformer.training.batching import BatchPlan, make_batch, split_batch


def lengths(num_pairs, seed):
    """Like captions: most of 5..25 tokens, a thin tail, sides alike."""
    generator = np.random.default_rng(seed)
    source = generator.poisson(14, num_pairs) + 2
    target = np.maximum(2, source + generator.integers(-4, 5, num_pairs))
    tail = generator.random(num_pairs) < 0.02
    return source + tail * generator.integers(0, 40, num_pairs), target


@pytest.fixture(scope="module")
def sides():
    return lengths(20_000, seed=1)


@pytest.mark.parametrize("batch_tokens", [30, 256, 1024])
def test_every_epoch_holds_every_sentence_once_within_the_budget(sides, batch_tokens):
    source, target = sides
    plan = BatchPlan(source, target, batch_tokens, seed=1)
    for epoch in (0, 1):
        batches = list(plan.epoch(epoch))
        assert len(batches) == plan.num_batches
        assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(len(source)))
        for batch in batches:
            slots = len(batch) * max(source[batch].max(), target[batch].max())
            assert slots <= batch_tokens or len(batch) == 1


def test_padding_stays_below_five_per_cent_on_short_sentences(sides):
    plan = BatchPlan(*sides, batch_tokens=1024, seed=1)
    assert plan.padding_share() < 0.05
    source, target = sides
    slots = sum(len(b) * int(source[b].max() + target[b].max()) for b in plan.epoch(3))
    assert plan.padding_share() == pytest.approx(1 - int(source.sum() + target.sum()) / slots)


def test_most_batches_need_no_source_mask(sides):
    source = sides[0]
    batches = list(BatchPlan(*sides, batch_tokens=1024, seed=1).epoch(0))
    assert np.mean([np.ptp(source[b]) == 0 for b in batches]) > 0.85


def test_an_epoch_follows_from_seed_and_number_alone(sides):
    def epoch(seed, number):
        return [batch.tolist() for batch in BatchPlan(*sides, 256, seed).epoch(number)]

    assert epoch(1, 2) == epoch(1, 2)
    assert epoch(1, 2) != epoch(1, 3)
    assert epoch(1, 2) != epoch(2, 2)


@pytest.mark.parametrize(("block", "spread"), [(1 << 20, 1), (97, 1), (1000, 5000)])
def test_counting_in_blocks_gives_the_plan_of_one_sort(monkeypatch, sides, block, spread):
    """Byte for byte the plans of all trainings before it, from offsets as from lengths."""
    monkeypatch.setattr(pairs_module, "_BLOCK", block)
    source, target = sides[0] * spread, sides[1] * spread
    plan = BatchPlan(
        *(Lengths(np.cumsum([0, *side])) for side in (source, target)), 700 * spread, seed=5
    )

    def sort(rows):
        turn = np.where(source[rows] % 2 == 0, target[rows], -target[rows])
        return rows[np.lexsort((turn, source[rows]))]

    in_order = list(plan.in_order())
    assert np.array_equal(np.concatenate(in_order), sort(np.arange(len(source))))
    bounds = np.cumsum([0, *map(len, in_order)])
    for epoch in (0, 7):
        generator = np.random.default_rng([5, epoch])
        sentences = sort(generator.permutation(len(source)))
        batches = list(plan.epoch(epoch))
        for batch, number in zip(batches, generator.permutation(len(in_order)), strict=True):
            assert np.array_equal(batch, sentences[bounds[number] : bounds[number + 1]])
    digest = hashlib.sha256(np.diff(bounds).tobytes()).hexdigest()
    assert spread != 1 or digest[:16] == "d3594d79fa297a99"  # as of before


def test_a_batch_outside_the_epoch_is_an_index_error(sides):
    epoch = BatchPlan(*sides, 256, 1).epoch(0)
    with pytest.raises(IndexError, match=f"batch {len(epoch)} of {len(epoch)}"):
        epoch[len(epoch)]


def test_a_pair_longer_than_the_budget_gets_a_batch_of_its_own():
    source, target = np.array([3, 90, 3, 3]), np.array([3, 4, 80, 3])
    batches = [sorted(b.tolist()) for b in BatchPlan(source, target, 10, 1).in_order()]
    assert sorted(batches) == [[0, 3], [1], [2]]


def test_a_split_batch_keeps_its_sentences_and_has_no_empty_part():
    parts = split_batch(np.arange(5), 3)
    assert [len(part) for part in parts] == [2, 2, 1]
    assert len(split_batch(np.arange(2), 3)) == 2


def test_a_batch_is_padded_shifted_and_masked():
    pairs = dataset([[5, 6, 3], [7, 3]], [[8, 3], [9, 10, 11, 3]])
    batch = make_batch(pairs, np.array([1, 0]), source_pad_id=0, target_pad_id=1, bos_id=2)
    assert batch.source.tolist() == [[7, 3, 0], [5, 6, 3]]
    assert batch.source_mask is not None
    assert batch.source_mask.tolist() == [[True, True, False], [True, True, True]]
    assert batch.target.tolist() == [[2, 9, 10, 11], [2, 8, 3, 1]]
    assert batch.labels.tolist() == [9, 10, 11, 3, 8, 3]
    assert batch.label_positions.tolist() == [0, 1, 2, 3, 4, 5]
    assert batch.source.dtype == batch.labels.dtype == torch.int64


def test_a_batch_without_padding_has_no_mask():
    pairs = dataset([[5, 3], [7, 3]], [[8, 3], [9, 3]])
    batch = make_batch(pairs, np.array([0, 1]), 0, 0, 2)
    assert batch.source_mask is None
    assert batch.label_positions.tolist() == list(range(batch.target.numel()))


def test_labels_of_source_tokens_are_asked_for_where_these_stand():
    """In the padded source, which is wider than the labels are many."""
    numbers = [([5, 6, 7, 3], [8, 9], [0, 2]), ([5, 3], [6], [1]), ([5, 6, 3], [4], [0])]
    examples = [Example(*map(np.array, example)) for example in numbers]
    batch = make_batch(InMemoryDataset(examples), np.array([2, 0]), 0, 1, 2)
    assert batch.source.tolist() == [[5, 6, 3, 0], [5, 6, 7, 3]]
    assert batch.labels.tolist() == [4, 8, 9]
    assert batch.label_positions.tolist() == [0, 4 + 0, 4 + 2]
