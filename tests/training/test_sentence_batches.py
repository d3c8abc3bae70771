"""Batches of so many sentences: each sentence once an epoch, in a random order."""

import numpy as np
import pytest

from transformer.training.batching import BatchPlan
from transformer.training.sentence_batches import SentencePlan, make_plan

SOURCE = np.arange(1, 101)
TARGET = SOURCE[::-1].copy()


def test_every_epoch_holds_every_sentence_once_in_batches_of_the_size():
    plan = SentencePlan(SOURCE, TARGET, 32, seed=1)
    for epoch in (0, 3):
        batches = list(plan.epoch(epoch))
        assert [len(batch) for batch in batches] == [32, 32, 32, 4]
        assert sorted(np.concatenate(batches)) == list(range(100))
    assert plan.num_batches == 4


def test_an_epoch_follows_from_seed_and_number_alone():
    def order(seed, epoch):
        return np.concatenate(list(SentencePlan(SOURCE, TARGET, 7, seed).epoch(epoch))).tolist()

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)


def test_the_order_is_numpys_own_permutation():
    batches = list(SentencePlan(SOURCE, TARGET, 7, seed=4).epoch(6))
    expected = np.random.default_rng([4, 6]).permutation(100)
    assert np.array_equal(np.concatenate(batches), expected)
    assert batches[0].dtype == np.int64


def test_lengths_are_mixed():
    """Where batches by tokens hold neighbours in length, these hold any."""
    spreads = [np.ptp(SOURCE[batch]) for batch in SentencePlan(SOURCE, TARGET, 25, 1).epoch(0)]
    assert min(spreads) > 70


def test_padding_is_counted():
    plan = SentencePlan(SOURCE, TARGET, 10, seed=1)
    slots = sum(len(b) * int(SOURCE[b].max() + TARGET[b].max()) for b in plan.epoch(0))
    assert plan.padding_share() == pytest.approx(1 - int(SOURCE.sum() + TARGET.sum()) / slots)


def test_no_batch_has_more_slots_than_the_plan_says():
    plan = SentencePlan(SOURCE, TARGET, 10, seed=1)
    for batch in plan.epoch(0):
        assert len(batch) * max(SOURCE[batch].max(), TARGET[batch].max()) <= plan.batch_tokens


def test_the_config_says_which_plan_and_accumulation_makes_steps_larger(train_config):
    by_sentences = train_config(batch_tokens=None, batch_sentences=8, gradient_accumulation=2)
    plan = make_plan(by_sentences, SOURCE, TARGET)
    assert isinstance(plan, SentencePlan)
    assert len(plan.epoch(0)[0]) == 16
    by_tokens = make_plan(train_config(gradient_accumulation=2), SOURCE, TARGET)
    assert isinstance(by_tokens, BatchPlan)
    assert by_tokens.batch_tokens == 256
