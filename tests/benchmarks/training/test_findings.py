"""Rounds of training measurements, their medians, the verdicts, the page."""

import json

import pytest

from benchmarks.harness.environment import UnavailableError
from benchmarks.training import measuring as training_measuring
from benchmarks.training.findings import TrainingFindings, as_json, write_report
from benchmarks.training.measuring import TrainingMeasurement, TrainingSpeeds, measure_training
from benchmarks.training.targets import judge
from transformer.model.config import ModelConfig
from transformer.monitoring.flops import training_flops


def measurement(who, round_index, speed, utilization=0.5):
    """Two seconds, a fifth of the slots empty, three target tokens for each of the source's."""
    tokens = 2 * speed
    return TrainingMeasurement(
        contender=who,
        round_index=round_index,
        seconds=2.0,
        num_steps=1,
        source_tokens=tokens // 4,
        target_tokens=tokens - tokens // 4,
        slots=tokens * 5 // 4,
        flops=2.0 * utilization * 1e9,
        peak=1e9,
        others_share=0.01,
    )


@pytest.fixture
def speeds():
    shares = {"eager": 0.72, "eole": 0.4, "eole-bfloat16": 0.3, "tutorial": 0.1}
    found = {"eager": (900, 1000, 1200), "eole": (600, 500, 400), "tutorial": (50, 50, 60)}
    found["eole-bfloat16"] = (800, 900, 800)
    return TrainingSpeeds(
        [
            measurement(who, index, speed, shares[who])
            for who, by_round in found.items()
            for index, speed in enumerate(by_round)
        ]
    )


def test_figures_are_medians_over_rounds(speeds):
    assert speeds.tokens_per_second("eager") == 1000
    assert speeds.tokens_per_second("eager", ("target",)) == 750
    assert speeds.utilization("eager") == pytest.approx(0.72)
    assert speeds.padding_share("eager") == pytest.approx(0.2)
    assert speeds.ratios("eager", "eole") == [1.5, 2.0, 3.0]


def test_the_best_is_among_those_measured(speeds):
    assert speeds.best(("compiled", "tutorial", "eole")) == "eole"
    assert speeds.best(("compiled",)) is None


def test_every_target_of_the_cpu_is_judged(speeds):
    verdicts = {one.text: (one.found, one.word) for one in judge(speeds, "cpu", "small")}
    assert verdicts == {
        "FLOP/s of the model / the device's peak": ("72.0%", "met"),
        "tokens per second / the best peer's": ("2.00 (rounds 1.50 to 3.00)", "met"),
        "the same, bfloat16 allowed": ("1.25 (rounds 1.11 to 1.50)", "missed"),
        "tokens per second / the tutorials' loop's": ("20.00 (rounds 18.00 to 20.00)", "met"),
    }


def test_targets_of_a_gpu_depend_on_the_shape(speeds):
    (verdict,) = judge(speeds, "cuda", "big")
    assert (verdict.found, verdict.target, verdict.is_met) == ("750", "at least 300,000", False)
    assert judge(speeds, "cuda", "small") == []


def test_what_was_not_measured_is_not_judged():
    words = {one.word for one in judge(TrainingSpeeds([]), "cpu", "small")}
    assert words == {"not measured"}


class FakeWorker:
    """Answers like a worker; fails after its first measurement, if so told."""

    def __init__(self, log, name, fails=False):
        self.log, self.name, self.fails, self.asked = log, name, fails, 0

    def ask(self, kind, **values):
        self.asked += 1
        if self.fails and self.asked > 2:
            raise UnavailableError("it broke")
        self.log.append(self.name)
        pairs = [[3, 4, 2], [7, 5, 1]]
        answer = {"seconds": 2.0, "num_steps": 1, "slots": 30, "pairs": pairs, "cpu_seconds": 1e9}
        return answer | {"flops_per_second": 5e9}


@pytest.fixture
def model(model_maker):
    config = model_maker(0).config
    assert isinstance(config, ModelConfig)
    return config


def test_rounds_begin_with_another_contender_and_measure_the_peak_before_each(model):
    log = []
    workers = {name: FakeWorker(log, name) for name in ("a", "b")}
    peaks = dict.fromkeys(workers, FakeWorker(log, "peak"))
    found, failed = measure_training(workers, peaks, model, 9, 2, 1.0, lambda _: None)
    # One step to warm up, then the measurement.
    assert log == [part for name in "abba" for part in ("peak", name, name)]
    assert not failed
    assert [(one.contender, one.round_index) for one in found] == [
        ("a", 0),
        ("b", 0),
        ("b", 1),
        ("a", 1),
    ]
    assert (found[0].source_tokens, found[0].target_tokens) == (13, 13)
    assert found[0].flops == training_flops(model, 9, [3, 3, 7], [4, 4, 5])


def test_a_measurement_that_others_disturbed_is_made_again(model, monkeypatch):
    shares = iter([0.5, 0.3, 0.02, 0.4, 0.2, 0.6])
    monkeypatch.setattr(training_measuring, "_others_share", lambda *_: next(shares))
    workers = {"a": FakeWorker([], "a")}
    found, _ = measure_training(workers, workers, model, 9, 2, 1.0, lambda _: None)
    assert [one.others_share for one in found] == [0.02, 0.2]


def test_a_contender_that_fails_is_left_out_and_the_reason_kept(model):
    log = []
    workers = {"a": FakeWorker(log, "a", fails=True), "b": FakeWorker(log, "b")}
    peaks = dict.fromkeys(workers, FakeWorker(log, "peak"))
    found, failed = measure_training(workers, peaks, model, 9, 3, 1.0, lambda _: None)
    assert failed == {"a": "it broke"}
    assert [one.contender for one in found].count("b") == 3


@pytest.mark.parametrize(("device", "memory"), [("cpu", "memory"), ("cuda", "GPU memory")])
def test_the_page_has_a_row_or_a_reason_for_everyone(device, memory):
    findings = TrainingFindings(["joeynmt", "eager"], device, "small")
    findings.measurements = [measurement("eager", 0, 1000)]
    findings.start_seconds, findings.peak_bytes = {"eager": 3.0}, {"eager": 2**30}
    findings.versions, findings.precisions = {"eager": "2.13"}, {"eager": "bfloat16"}
    findings.reasons = {"joeynmt": "no such package"}
    page = write_report(findings)
    speed = "1,000 | 750 | 1,000 to 1,000 | 20.0% | 50.0% | 1 | 3.0 | 1,024"
    assert f"| ours 2.13 | bfloat16 | {speed} |" in page
    assert f"| peak {memory}, MiB |" in page
    assert "| Joey NMT | – |" in page
    assert "Joey NMT: no such package" in page
    record = json.loads(as_json(findings))
    assert dict(zip(record["measurement_columns"], record["measurements"][0], strict=True)) == (
        findings.measurements[0]._asdict()
    )
