"""Choices of sentences and their order."""

from collections import Counter

from benchmarks.decoding.sampling import Cell, few, interleave, length_batches, spread


def test_spread_takes_even_distances():
    assert spread(range(100), 4) == [12, 37, 62, 87]
    assert spread("abc", 1) == ["b"]


def test_spread_of_too_few_takes_all():
    assert spread([1, 2, 3], 10) == [1, 2, 3]


def test_batches_hold_each_sentence_once_and_the_longest_first():
    lengths = [3, 9, 4, 9, 1]
    assert length_batches([4, 3, 2, 1, 0], lengths, 2) == [[1, 3], [2, 0], [4]]


def test_few_keeps_whole_batches_over_all_lengths():
    batches = [[index] for index in range(200)]
    chosen = few(batches)
    assert len(chosen) == 40
    assert chosen[0] == [2]
    assert chosen[-1] == [197]
    assert few(batches[:7]) == [[1], [3], [5]]
    assert few(batches[:2]) == [[0], [1]]


def test_every_contender_is_measured_in_every_cell_of_every_round():
    cells = [Cell(1, 1), Cell(8, 1), Cell(8, 4)]
    order = list(interleave(cells, "abcd", 3))
    assert Counter(order) == Counter(
        (index, cell, name) for index in range(3) for cell in cells for name in "abcd"
    )


def test_another_contender_begins_each_time_and_rounds_differ_in_order():
    cells = [Cell(size, 1) for size in range(1, 9)]
    order = list(interleave(cells, "abcd", 2))
    assert [name for _, _, name in order[::4]] == list("abcd" * 4)
    rounds = [[cell for number, cell, name in order if (number, name) == (r, "a")] for r in (0, 1)]
    assert rounds[0] != rounds[1]
