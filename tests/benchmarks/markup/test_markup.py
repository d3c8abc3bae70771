"""Markup put in by chance, and alignments by hand."""

from random import Random

import pytest

from benchmarks.markup.gold import read_gold, score_aligner
from benchmarks.markup.sentences import mark_up
from transformer.text.alignment import Alignment

SOURCE = "Hier, Paul a vu 12 chats noirs à la gare."
TARGET = "Yesterday, Paul saw 12 black cats at the station."


@pytest.mark.parametrize("seed", range(40))
def test_what_was_put_in_comes_out_again(seed):
    marked = mark_up(SOURCE, TARGET, Random(seed))
    assert marked.is_well_formed(marked.html)
    assert marked.count_kept(marked.html) == marked.num_placeholders >= 1
    assert marked.plain(marked.html) == SOURCE
    assert not marked.is_well_formed(marked.html.replace(">", "", 1))
    assert marked.count_kept(marked.html * 2) == 0
    assert mark_up(SOURCE, TARGET, Random(seed)) == marked


def test_the_hand_agrees_with_itself_and_with_nothing_by_chance():
    gold = read_gold()
    assert len(gold) == 200
    links = {pair.source: sorted(pair.possible) for pair in gold}
    exact = score_aligner(lambda source, _: Alignment([], [], links[source]), gold)
    assert (exact.precision, exact.recall, exact.error) == (1, 1, 0)
    nothing = score_aligner(lambda source, _: Alignment([], [], []), gold)
    assert (nothing.recall, nothing.error) == (0, 1)
