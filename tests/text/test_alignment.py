"""The table of agreeing tokens, and the words that it links."""

import numpy as np
import pytest

from transformer.text.alignment import Aligner, _link, fit_table, split_words
from transformer.text.lexicon import fit_lexicon
from transformer.text.pairs import PairDataset
from transformer.text.tokenizer import TokenizerPair
from transformer.text.vocab_config import BpeSpec
from transformer.text.vocabulary import fit_tokenizer

NOUNS = {"chat": "cat", "chien": "dog", "pain": "bread", "livre": "book", "mur": "wall"}
COLORS = {"noir": "black", "rouge": "red", "vert": "green", "blanc": "white"}
PAIRS = [
    (f"Le {noun} {color} est là.", f"The {COLORS[color]} {NOUNS[noun]} is here.")
    for noun in NOUNS
    for color in COLORS
]


class Pairs(PairDataset):
    """Pairs in memory."""


@pytest.fixture(scope="module")
def trained():
    spec = BpeSpec(kind="bpe", size=400, min_frequency=1, mark_case=True)
    tokenizer = fit_tokenizer(spec, [text for pair in PAIRS for text in pair])
    pairs = Pairs()
    for side, texts in zip(("source", "target"), zip(*PAIRS, strict=True), strict=True):
        ids = [[*tokenizer.encode(text), tokenizer.eos_id] for text in texts]
        lengths = np.array([len(one) for one in ids])
        setattr(pairs, f"{side}_ids", np.concatenate(ids))
        setattr(pairs, f"{side}_offsets", np.concatenate([[0], np.cumsum(lengths)]))
    return TokenizerPair(tokenizer, tokenizer), pairs, tokenizer.size


def linked(aligner, source, target):
    found = aligner.align(source, target)
    return {
        (source[slice(*found.source[i])], target[slice(*found.target[j])]) for i, j in found.links
    }


def test_words_are_linked_across_their_order_and_whatever_their_case(trained, tmp_path):
    tokenizers, pairs, size = trained
    np.save(tmp_path / "table.npy", fit_table(fit_lexicon(pairs, size, size), pairs, size, size))
    aligner = Aligner.load(tokenizers, tmp_path / "table.npy")
    expected = {("Le", "The"), ("chat", "CAT"), ("noir", "black"), ("est", "is"), ("là", "here")}
    assert linked(aligner, "Le chat noir est là.", "The black CAT is here.") == {
        *expected,
        (".", "."),
    }


def test_the_same_corpus_gives_the_same_table(trained):
    _, pairs, size = trained
    lexicon = fit_lexicon(pairs, size, size)
    tables = [fit_table(lexicon, pairs, size, size) for _ in range(2)]
    assert tables[0].tobytes() == tables[1].tobytes()


def test_without_a_table_spelling_and_place_decide(trained):
    aligner = Aligner(trained[0])
    assert linked(aligner, "ici Paul dort", "Paul sleeps here") >= {("Paul", "Paul")}
    assert linked(aligner, "un deux trois", "x y z") == {("un", "x"), ("deux", "y"), ("trois", "z")}
    assert linked(aligner, "un !", "? x") == {("un", "x"), ("!", "?")}


def test_words_of_several_pieces_agree_as_far_as_all_of_them_do(trained):
    aligner = Aligner(trained[0])
    aligner._agreement = {1: {5: 0.5, 6: 0.25}, 2: {6: 1.0}}
    assert aligner._compare([1], [5]) == 0.25
    assert aligner._compare([1], [5, 7]) == 0.25 * 0.5
    assert aligner._compare([1, 3], [5]) == 0.5 * 0.25
    assert aligner._compare([1, 2], [5, 6]) == 0.75 * 0.75
    assert aligner._compare([], [5]) == aligner._compare([1], []) == 0.0


@pytest.mark.parametrize(
    ("shape", "likely", "expected"),
    [
        # A corner beside a link that nothing else claims: on each side, the upper left one first.
        ((3, 3), {(1, 1)}, [(0, 0), (1, 1), (2, 2)]),
        ((2, 2), {(0, 1)}, [(0, 1), (1, 0)]),
        ((2, 2), {(1, 0)}, [(0, 1), (1, 0)]),
        # Links grow in their order.
        ((3, 5), {(0, 2), (2, 4)}, [(0, 2), (1, 1), (2, 4)]),
        # What was linked by growing grows on.
        ((3, 3), {(0, 0)}, [(0, 0), (1, 1), (2, 2)]),
        ((3, 3), set(), []),
    ],
)
def test_words_that_are_left_over_join_where_they_stand_beside_a_link(shape, likely, expected):
    likeness = np.zeros(shape)
    for place in likely:
        likeness[place] = 1.0
    assert _link(likeness) == expected


def test_what_better_links_leave_over_is_linked_next():
    assert _link(np.array([[0.9, 0.8], [0.7, 0.1]])) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(("source", "target"), [("", "a"), ("a", ""), ("", ""), (" ", " ")])
def test_nothing_is_linked_to_nothing(trained, source, target):
    assert Aligner(trained[0]).align(source, target).links == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l'ami d’Anna", ["l'", "ami", "d’", "Anna"]),
        ("don't, it’s 3.5", ["don't", ",", "it’s", "3.5"]),
        ("habites-tu ?", ["habites", "-", "tu", "?"]),
        ("他住在日本。", ["他", "住", "在", "日", "本", "。"]),
    ],
)
def test_words_are_those_that_a_tag_may_stand_around(text, words):
    assert [text[a:b] for a, b in split_words(text)] == words
