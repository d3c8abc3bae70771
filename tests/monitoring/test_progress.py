"""The bar shows where training is, and how long it takes."""

import math

import pytest

from transformer.monitoring.progress import ProgressBar
from transformer.monitoring.throughput import Speed
from transformer.training.reporting import TrainRow, ValidRow


def test_the_bar_shows_loss_speed_with_validation(capsys):
    bar = ProgressBar()
    bar.on_start(10, 99, 0)
    bar.on_log(TrainRow(5, 1.25, 0.001, 2.0), Speed(12_345.0, 1.0, 0.05, 0.456, 2**30, 0.1))
    bar.on_validation(ValidRow(10, 1.5, math.exp(1.5), 0.25))
    bar.on_end()
    shown = capsys.readouterr().err
    for part in (
        "10/10",
        "loss=1.250",
        "tokens/s=12,345",
        "of peak=46%",
        "valid=1.500",
        "accuracy=0.250",
    ):
        assert part in shown


def test_a_resumed_bar_starts_where_training_does_and_not_with_a_burst_of_speed(capsys):
    bar = ProgressBar()
    bar.on_start(1000, 99, 900)
    bar.on_end()
    shown = capsys.readouterr().err
    assert "900/1000" in shown
    assert "step/s" not in shown.replace("?step/s", "")


def test_a_bar_that_never_started_can_be_closed():
    ProgressBar().on_end()


def test_the_time_left_follows_the_present_speed(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    bar = ProgressBar()
    bar.on_start(3000, 99, 0)
    for seconds, first in ((1.0, 20), (10.0, 1020)):  # ten times slower from step 1,000 on
        for step in range(first, first + 1000 if seconds == 1.0 else first + 100, 20):
            now[0] += 20 * seconds
            bar.on_log(TrainRow(step, 1.0, 0.001, 2.0), Speed(1.0, 1.0, 0.0, None, 1, 0.0))
    shown = bar._bar.format_dict
    bar.on_end()
    left = (3000 - shown["n"]) / shown["rate"]
    assert left == pytest.approx((3000 - 1100) * 10.0, rel=0.05)
