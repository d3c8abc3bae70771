"""What tracking costs is the time within its calls."""

import pytest

from benchmarks import tracking
from benchmarks.tracking import Stopwatch, describe


@pytest.fixture
def clock(monkeypatch):
    """Ten seconds pass with each look at it."""
    ticks = iter(range(0, 1000, 10))
    monkeypatch.setattr(tracking.time, "perf_counter", lambda: float(next(ticks)))


class Reporter:
    def __init__(self):
        self.heard = []

    def on_log(self, row, speed):
        self.heard.append((row, speed))
        return "answer"

    def on_end(self):
        raise ValueError("broken")


def test_calls_are_passed_on_and_their_seconds_added_up(clock):
    reporter = Reporter()
    stopwatch = Stopwatch(reporter)
    assert [stopwatch.on_log(1, 2), stopwatch.on_log(3, 4)] == ["answer", "answer"]
    assert reporter.heard == [(1, 2), (3, 4)]
    assert (stopwatch.seconds, stopwatch.counts) == ({"on_log": 20.0}, {"on_log": 2})


def test_an_error_is_the_callers(clock):
    with pytest.raises(ValueError, match="broken"):
        Stopwatch(Reporter()).on_end()


def test_the_table_ends_with_the_whole(clock):
    stopwatch = Stopwatch(Reporter())
    stopwatch.on_log(1, 2)
    with stopwatch.measure("other"):
        pass
    assert describe(stopwatch, 400.0).splitlines()[2:] == [
        "| on_log | 1 | 10.000 | 2.50% |",
        "| other | 1 | 10.000 | 2.50% |",
        "| all | 2 | 20.000 | 5.00% |",
    ]
