"""Who is measured when, and medians, bests and ratios of measurements."""

from collections import Counter

import pytest

from benchmarks.decoding.findings import Cell
from benchmarks.harness import rounds
from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.rounds import Speeds, Variant, idle_seconds, interleave, measure_rounds

CELL = Cell(1, 1)


def test_best_setting_is_that_of_the_highest_median_not_of_the_highest_figure(measured):
    speeds = Speeds(measured("a", [10, 10, 90]) + measured("a", [20, 20, 20], threads=2))
    best = speeds.best(["a"], CELL)
    assert best == Variant("a", 2)
    assert speeds.median(best, CELL) == 20


def test_ratio_is_of_medians_and_its_range_is_round_by_round(measured):
    speeds = Speeds(measured("a", [10, 30, 20]) + measured("b", [5, 10, 20]))
    ratio = speeds.ratio(["a"], ["b", "c"], CELL)
    assert (ratio.value, ratio.low, ratio.high) == (2.0, 1.0, 3.0)


def test_what_was_not_measured_has_no_ratio(measured):
    speeds = Speeds(measured("a", [10]))
    assert speeds.ratio(["a"], ["b"], CELL) is None
    assert speeds.ratio(["a"], ["a"], Cell(8, 1)) is None
    assert speeds.median(Variant("b", 1), CELL) is None


ANSWER = {"seconds": 2.0, "num_tokens": 100, "cpu_seconds": 1e9, "peak_bytes": 7}


def test_a_variant_that_fails_leaves_the_others_measured():
    good, bad = Variant("onnx-float32", 1), Variant("ctranslate2-int8", 1)

    def ask(variant, cell):
        if variant == bad and cell != CELL:
            raise UnavailableError("out of memory")
        return ANSWER

    cells = [CELL, Cell(8, 4)]
    measurements, failed = measure_rounds([good, bad], cells, 3, ask, lambda text: None)
    assert failed == {bad: "out of memory"}
    mine = [one for one in measurements if one.variant == good]
    assert len(mine) == 6
    assert {one.speed for one in mine} == {50.0}
    assert all(one.cell == CELL for one in measurements if one.variant == bad)


def test_what_is_not_measured_in_a_cell_is_left_out():
    def ask(variant, cell):
        return ANSWER if cell.batch_size > 1 else None

    cells = [CELL, Cell(8, 1)]
    measurements, failed = measure_rounds([Variant("a", 2)], cells, 1, ask, lambda text: None)
    assert [one.cell for one in measurements] == [Cell(8, 1)]
    assert not failed


def test_a_measurement_that_others_disturbed_is_made_again(monkeypatch):
    shares = iter([0.5, 0.3, 0.02, 0.4, 0.2, 0.6])
    monkeypatch.setattr(rounds, "others_share", lambda *_: next(shares))
    found, _ = measure_rounds([Variant("a", 1)], [()], 2, lambda *_: ANSWER, lambda text: None)
    assert [one.others_share for one in found] == [0.02, 0.2]


def test_nobody_is_measured_where_nobody_is_there():
    assert measure_rounds([], [CELL], 2, lambda *_: ANSWER, lambda text: None) == ([], {})


def test_others_took_what_was_neither_idle_nor_ours(monkeypatch):
    monkeypatch.setattr(rounds.time, "perf_counter", lambda: 12.0)
    monkeypatch.setattr(rounds, "idle_seconds", lambda: 104.0)
    monkeypatch.setattr(rounds.os, "cpu_count", lambda: 2)
    assert rounds.others_share(started=2.0, idle=100.0, used=6.0) == pytest.approx(0.5)
    assert rounds.others_share(started=2.0, idle=100.0, used=17.0) == 0.0


def test_idle_time_grows():
    before = idle_seconds()
    assert idle_seconds() >= before


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
