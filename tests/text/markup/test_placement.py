"""Tags as brackets, in a source and in the words of its translation."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.alignment import Alignment, split_words
from transformer.text.markup.placement import place_nodes
from transformer.text.markup.segment import Node


def place(source, target, links, ends=None):
    """The target with the source's brackets; a link is a word and its translation, `a-A`.

    `ends` are those of sentences, in words of the source and of the target.
    """
    plain, open_nodes, nodes = "", [], []
    for part in re.findall(r"\[|\]|[^][]+", source):
        if part == "[":
            open_nodes.append(Node(len(plain), 0, ("[",), ("]",)))
        elif part == "]":
            node = open_nodes.pop()
            node.end = len(plain)
            (open_nodes[-1].children if open_nodes else nodes).append(node)
        else:
            plain += part
    words, others = split_words(plain), split_words(target)
    names = [plain[begin:end] for begin, end in words]
    other_names = [target[begin:end] for begin, end in others]
    pairs = [link.split("-") for link in links.split()]
    numbers = [(names.index(first), other_names.index(second)) for first, second in pairs]
    alignment = Alignment(words, others, numbers)
    ends = ends or [(len(words), len(others))]
    return "".join(map(str, place_nodes(nodes, target, alignment, ends, lambda text: (text,))))


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("a [b c] d", "D C B A", "a-A b-B c-C d-D", "D [C B] A"),
        # Between two parts that are far from each other the longer one is chosen, else the first.
        ("a [b c d] e f", "B E F C D A", "a-A b-B c-C d-D e-E f-F", "B E F [C D] A"),
        ("a [b c] e", "B A E C", "a-A b-B c-C e-E", "[B] A E C"),
        ("a [b c] d", "A B x C D", "a-A b-B c-C d-D", "A [B x C] D"),
        # One word of others between is taken along where more follows.
        ("a [b c d e] f", "B C F D E A", "a-A b-B c-C d-D e-E f-F", "[B C F D E] A"),
        # What another tag holds parts them.
        ("[a] [b c d] e", "B A C D E", "a-A b-B c-C d-D e-E", "B [A] [C D] E"),
        # A word that nothing is linked to goes with what follows it, if the word before is known,
        ("a [b] c", "A x B C", "a-A b-B c-C", "A [x B] C"),
        ("a [b] c", "A x B C", "b-B c-C", "A x [B] C"),
        ("a a [b] c", "A x B C", "a-A b-B c-C", "A x [B] C"),
        ("[b] c", "x B C", "b-B c-C", "[x B] C"),
        # with what precedes it up to a sign or the end, if what follows is known.
        ("a [b], c", "A B x, C", "a-A b-B c-C ,-,", "A [B x], C"),
        ("a [b] c", "A B x C", "a-A b-B c-C", "A [B] x C"),
        ("a [b] c, d", "A B x, D", "a-A b-B d-D ,-,", "A [B] x, D"),
        ("a [b]", "A B x", "a-A b-B", "A [B x]"),
        # A tag around the whole sentence holds all of it.
        ("[a b]", "x B y A z", "a-A b-B", "[x B y A z]"),
        ("[a [b]] c", "C y B A", "a-A b-B c-C", "C [[y B] A]"),
    ],
)
def test_words_stay_with_their_tags(source, target, links, expected):
    assert place(source, target, links) == expected


def test_a_tag_around_a_sentence_of_two_holds_its_words_without_a_link():
    links, ends = "a-A b-B c-C", [(2, 4), (3, 5)]
    assert place("[a b] c", "B C x A y", links, ends) == "B C [x A] y"
    assert place("[a b] c", "B x y A C", links, ends) == "[B x y A] C"


@given(st.data())
def test_the_run_that_agrees_best_is_chosen(data):
    length = data.draw(st.integers(2, 8))
    begin = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(begin + 1, length - (begin == 0)))
    words = "abcdefgh"[:length]
    linked = data.draw(st.lists(st.sets(st.sampled_from(words), min_size=1), min_size=1))
    others = [f"T{place}" for place in range(len(linked))]
    source = f"{' '.join(words[:begin])} [{' '.join(words[begin:end])}] {' '.join(words[end:])}"
    links = [f"{word}-{other}" for other, of in zip(others, linked, strict=True) for word in of]
    answer = place(source, " ".join(others), " ".join(links))

    score = [1 if of & set(words[begin:end]) else -1 for of in linked]
    runs = [(a, b) for a in range(len(score)) for b in range(a + 1, len(score) + 1)]
    best = max(sum(score[a:b]) for a, b in runs)
    found = re.search(r"\[(.*)\]", answer)
    assert answer.replace("[", "").replace("]", "").split() == others
    held = [others.index(word) for word in found[1].split()]
    assert sum(score[place] for place in held) == max(best, 0)
    assert held == list(range(*(held[0], held[-1] + 1) if held else (0,)))
