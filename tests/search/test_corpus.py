"""Whole corpora: batched is one by one, and order is kept."""

import math
import random

import numpy as np
import pytest

from transformer.search.config import SearchConfig
from transformer.search.corpus import decode_corpus

CONFIG = SearchConfig(
    beam_size=3, length_penalty=0.6, patience=2.0, max_length_factor=1.5, max_length_extra=4
)


def decode(model, sources, special, batch_tokens, beam_size=3, num_best=2):
    return decode_corpus(
        model,
        sources,
        beam_size=beam_size,
        length_penalty=0.6,
        patience=math.inf,
        max_length=lambda length: CONFIG.max_length(length, 40),
        num_best=num_best,
        batch_tokens=batch_tokens,
        source_pad=0,
        special=special,
    )


def some_sources(count=23):
    generator = random.Random(0)
    return [
        [*(generator.randrange(4, 12) for _ in range(generator.randrange(0, 9))), 2]
        for _ in range(count)
    ]


def test_batches_equal_one_by_one_in_order(model_maker, special):
    model, sources = model_maker(1), some_sources()
    alone = [decode(model, [ids], special, 1)[0] for ids in sources]
    together = decode(model, [np.array(ids, dtype=np.uint16) for ids in sources], special, 100)
    for one, other in zip(alone, together, strict=True):
        assert [hypothesis.ids for hypothesis in one] == [hypothesis.ids for hypothesis in other]
        for left, right in zip(one, other, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-5)


def test_source_without_ids_gets_an_empty_translation(model_maker, special):
    answers = decode(model_maker(1), [[4, 2], [], [5, 6, 2]], special, 100)
    assert [hypothesis.ids for hypothesis in answers[1]] == [[]]
    assert all(hypothesis.ids for hypothesis in answers[0] + answers[2])


def test_no_sources_no_answers(model_maker, special):
    assert decode(model_maker(), [], special, 100) == []


def test_vocabulary_too_small_for_num_best_gives_fewer(model_maker, special):
    model = model_maker(0, target_vocab_size=5)
    answers = decode_corpus(
        model,
        [[4, 2]],
        beam_size=9,
        length_penalty=0.0,
        patience=math.inf,
        max_length=lambda _: 1,
        num_best=9,
        batch_tokens=100,
        source_pad=0,
        special=special,
    )
    assert sorted(hypothesis.ids for hypothesis in answers[0]) == [[2], [3], [4]]


def test_maximum_length_grows_with_the_source_up_to_the_positions():
    assert [CONFIG.max_length(tokens, 10) for tokens in (1, 2, 3, 4, 100)] == [5, 7, 8, 10, 10]
