"""Whole corpora: batched is one by one, and order is kept."""

import random

import numpy as np
import pytest

from transformer.search.corpus import decode_corpus


@pytest.fixture
def decode(make_options, special):
    def run(model, sources, batch_tokens, **changes):
        settings = {"beam_size": 3, "num_best": 2, "max_length_factor": 1.5, "max_length_extra": 4}
        options = make_options(**(settings | changes))
        return decode_corpus(
            model, sources, options, batch_tokens=batch_tokens, source_pad=0, special=special
        )

    return run


def some_sources(count=23):
    generator = random.Random(0)
    return [
        [*(generator.randrange(4, 12) for _ in range(generator.randrange(0, 9))), 2]
        for _ in range(count)
    ]


def test_batches_equal_one_by_one_in_order(model_maker, decode):
    model, sources = model_maker(1), some_sources()
    alone = [decode(model, [ids], 1)[0] for ids in sources]
    together = decode(model, [np.array(ids, dtype=np.uint16) for ids in sources], 100)
    for one, other in zip(alone, together, strict=True):
        assert [hypothesis.ids for hypothesis in one] == [hypothesis.ids for hypothesis in other]
        for left, right in zip(one, other, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-5)


def test_source_without_ids_gets_an_empty_translation(model_maker, decode):
    answers = decode(model_maker(1), [[4, 2], [], [5, 6, 2]], 100)
    assert [hypothesis.ids for hypothesis in answers[1]] == [[]]
    assert all(hypothesis.ids for hypothesis in answers[0] + answers[2])


def test_no_sources_no_answers(model_maker, decode):
    assert decode(model_maker(), [], 100) == []


def test_vocabulary_too_small_for_num_best_gives_fewer(model_maker, decode):
    model = model_maker(0, target_vocab_size=5)
    limit = {"max_length_factor": 0.0, "max_length_extra": 1}
    answers = decode(model, [[4, 2]], 100, beam_size=9, num_best=9, **limit)
    assert sorted(hypothesis.ids for hypothesis in answers[0]) == [[2], [3], [4]]


def test_maximum_length_grows_with_the_source_up_to_the_positions(make_options):
    options = make_options(max_length_factor=1.5, max_length_extra=4, max_positions=10)
    assert [options.max_length(tokens) for tokens in (1, 2, 3, 4, 100)] == [5, 7, 8, 10, 10]
