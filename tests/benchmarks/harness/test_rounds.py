"""Medians, bests and ratios of measurements."""

import pytest

from benchmarks.decoding.contenders import Variant
from benchmarks.decoding.sampling import Cell
from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.rounds import Speeds, busy_seconds, measure_all

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


class FakeWorker:
    def __init__(self, seconds):
        self.seconds = seconds

    def ask(self, kind, **values):
        if self.seconds is None:
            raise UnavailableError("out of memory")
        return {"seconds": self.seconds, "num_tokens": 100, "cpu_seconds": 0.0}


def test_a_variant_that_fails_leaves_the_others_measured():
    good, bad = Variant("onnx-float32", 1), Variant("ctranslate2-int8", 1)
    workers = {good: FakeWorker(2.0), bad: FakeWorker(None)}
    measurements, failed = measure_all(workers, [CELL, Cell(8, 4)], 3, lambda text: None)
    assert failed == {bad: "out of memory"}
    assert [one.variant for one in measurements] == [good] * 6
    assert {one.speed for one in measurements} == {50.0}


def test_workers_side_by_side_are_not_measured_on_batches_too_small_to_share():
    pair = Variant("ctranslate2-int8", 2, num_workers=2)
    cells = [CELL, Cell(8, 1)]
    measurements, _ = measure_all({pair: FakeWorker(1.0)}, cells, 1, lambda text: None)
    assert [one.cell for one in measurements] == [Cell(8, 1)]


def test_busy_time_grows():
    before = busy_seconds()
    if before is None:
        pytest.skip("only Linux tells it")
    assert busy_seconds() >= before
