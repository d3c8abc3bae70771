"""Decoding without a cache gives what our search gives, where the two mean the same."""

import math

import pytest
import torch

from benchmarks.decoding.tutorial import beam_search, greedy
from transformer.search.decode import search
from transformer.search.options import SearchOptions

SOURCE = torch.tensor([[4, 5, 6, 7, 3], [8, 3, 0, 0, 0], [9, 9, 4, 3, 0], [5, 3, 0, 0, 0]])
MASK = SOURCE != 0
LIMITS = torch.tensor([12, 6, 9, 3])


def ours(model, special, max_lengths, beam_size, length_penalty):
    options = SearchOptions(
        beam_size=beam_size,
        num_best=1,
        length_penalty=length_penalty,
        patience=math.inf,
        max_length_factor=1.0,
        max_length_extra=1,
        max_positions=24,
    )
    found = search(model, SOURCE, MASK, options, special, max_lengths)
    return read(found.target[:, 0])


def read(target):
    return [[id for id in row if id != 0] for row in target.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_equals_ours(make_model, special, seed):
    model = make_model(seed)
    found = read(greedy(model, SOURCE, MASK, LIMITS, special))
    assert found == ours(model, special, LIMITS, 1, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_one_beam_is_greedy(make_model, special, seed):
    model = make_model(seed)
    found = beam_search(model, SOURCE, MASK, LIMITS, special, beam_size=1, length_penalty=1.0)
    assert read(found) == read(greedy(model, SOURCE, MASK, LIMITS, special))


def test_a_beam_that_holds_every_hypothesis_finds_the_best_as_ours_does(make_model, special):
    """So wide a beam leaves no room for stopping rules; hypotheses cut short are ours' last."""
    limits, num_ended = torch.full((4,), 4), 0
    for seed in range(8):
        model = make_model(seed, target_vocab_size=6)
        found = read(
            beam_search(model, SOURCE, MASK, limits, special, beam_size=200, length_penalty=0.8)
        )
        best = ours(model, special, limits, 200, 0.8)
        ended = [row for row, ids in enumerate(found) if ids[-1] == special.eos_id]
        assert [found[row] for row in ended] == [best[row] for row in ended]
        num_ended += len(ended)
    assert num_ended >= 10
