"""IBM Model 1 against its definition, and the lists made of it."""

import numpy as np
import pytest

from transformer.export.config import ShortlistConfig
from transformer.export.shortlist.choose import choose_words
from transformer.text.lexicon import NUM_ROUNDS, fit_lexicon


class Pairs:
    """Sentences in the form of `IdsSplit`."""

    def __init__(self, pairs):
        for side, sentences in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            lengths = np.array([len(ids) for ids in sentences])
            setattr(
                self, f"{side}_ids", np.array([id for ids in sentences for id in ids], "uint16")
            )
            setattr(self, f"{side}_offsets", np.concatenate([[0], lengths.cumsum()]))


# das Haus, das Buch, ein Buch -> the house, the book, a book: the textbook's example.
HOUSE = [([1, 2], [1, 2]), ([1, 3], [1, 3]), ([4, 3], [4, 3])]


def by_definition(pairs, num_source, num_target):
    """Expectation maximisation in loops; row `num_source` is the empty word."""
    table = np.ones((num_source + 1, num_target))
    for _ in range(NUM_ROUNDS):
        counts = np.zeros_like(table)
        for source, target in pairs:
            for t in target:
                column = table[[*source, num_source], t]
                for s, share in zip([*source, num_source], column / column.sum(), strict=True):
                    counts[s, t] += share
        table = counts / np.maximum(counts.sum(1, keepdims=True), 1e-300)
    return table[:num_source]


@pytest.mark.parametrize("seed", range(3))
def test_lexicon_equals_the_definition(seed):
    generator = np.random.default_rng(seed)

    def sentence(size):
        return generator.integers(0, size, generator.integers(1, 6)).tolist()

    pairs = [(sentence(7), sentence(9)) for _ in range(12)]
    lexicon = fit_lexicon(Pairs(pairs), 7, 9)
    found = np.zeros((7, 9))
    found[lexicon.source, lexicon.target] = lexicon.probability
    np.testing.assert_allclose(found, by_definition(pairs, 7, 9), rtol=1e-9)
    targets = [t for _, target in pairs for t in target]
    np.testing.assert_array_equal(lexicon.target_counts, np.bincount(targets, minlength=9))


def test_words_that_stand_together_alone_find_each_other():
    lexicon = fit_lexicon(Pairs(HOUSE), 5, 5)
    for word in (1, 2, 3, 4):
        rows = lexicon.source == word
        assert lexicon.target[rows][lexicon.probability[rows].argmax()] == word


def choose(is_joint, num_frequent=1, num_per_token=3):
    return choose_words(
        fit_lexicon(Pairs(HOUSE), 6, 6),
        6,
        ShortlistConfig(num_frequent=num_frequent, num_per_token=num_per_token),
        always=[0, 5],
        fill=5,
        is_joint=is_joint,
    )


def test_a_list_holds_the_frequent_words_the_marks_and_the_likeliest():
    chosen = choose(is_joint=False)
    assert chosen.frequent.tolist() == [0, 1, 5]  # 1 and 3 come twice, and 1 is the lower id
    assert chosen.by_source[2].tolist() == [2, 1, 5]  # Haus: house, then the; the rest is filled
    assert chosen.by_source[0].tolist() == [5, 5, 5]  # no such word in the corpus


def test_in_a_joint_vocabulary_a_token_may_stay_what_it_is():
    chosen = choose(is_joint=True)
    assert chosen.by_source[:, -1].tolist() == [0, 1, 2, 3, 4, 5]
    assert chosen.by_source[2].tolist() == [2, 1, 2]
