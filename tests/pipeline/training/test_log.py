"""The log of a training goes on where it was, outside of what DVC tracks."""

import json

import pytest

from pipeline.training.log import LogFile
from transformer.monitoring.throughput import Speed
from transformer.training.reporting import TrainRow, ValidRow


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / ".dvc" / "tmp" / "exps" / "copy"))
    return LogFile(tmp_path / ".state" / "train" / "0123", 2, 1e11)


def lines(tmp_path):
    text = (tmp_path / "logs" / "train-0123.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def tell(log, step):
    log.on_start(40, 9, step)
    log.on_log(TrainRow(step + 1, 1.5, 0.1, 2.0), Speed(1.0, 2.0, 0.1, None, 2**20, 0.5))
    log.on_validation(ValidRow(step + 1, 1.0, 2.7, 0.5))
    log.on_end()


def test_every_figure_has_its_line_in_the_main_checkout(log, tmp_path):
    tell(log, 0)
    start, train, valid, end = lines(tmp_path)
    assert start["num_steps"] == 40
    assert start["processes"] == 2
    assert start["peak_flops_of_each"] == 1e11
    assert train["step"] == 1
    assert train["gradient_norm"] == 2.0
    assert train["seconds_waiting_for_data"] == 0.5
    assert "mfu" not in train
    assert valid["accuracy"] == 0.5
    assert end["event"] == "end"
    assert end["time"] >= start["time"]


def test_a_resumed_training_appends_and_a_new_one_starts_anew(log, tmp_path):
    tell(log, 0)
    tell(log, 7)
    assert [line["step"] for line in lines(tmp_path) if line["event"] == "start"] == [0, 7]
    tell(log, 0)
    assert [line["step"] for line in lines(tmp_path) if line["event"] == "start"] == [0]


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    tell(LogFile(None, 1, 1.0), 0)
    assert not list(tmp_path.iterdir())
