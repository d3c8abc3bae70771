"""Medians over the rounds, the verdicts, the page."""

import json

import pytest

from benchmarks.harness.rounds import Variant
from benchmarks.training.findings import (
    TrainingFindings,
    padding_share,
    target_speed,
    utilization,
)


@pytest.fixture
def make(measured):
    """Measurements of a contender: a fifth of the slots empty, three target tokens of four."""

    def figures(who, speeds, share=0.5):
        return [
            one._replace(
                figures={
                    **one.figures,
                    "source_tokens": one.figures["num_tokens"] // 4,
                    "target_tokens": one.figures["num_tokens"] * 3 // 4,
                    "num_slots": one.figures["num_tokens"] * 5 // 4,
                    "flops": 2.0 * share * 1e9,
                    "peak_flops": 1e9,
                }
            )
            for one in measured(who, speeds, cell=())
        ]

    return figures


@pytest.fixture
def findings(make):
    found = TrainingFindings([], "cpu", "small")
    found.measurements = [
        *make("eager", (900, 1000, 1200), 0.72),
        *make("eole", (600, 500, 400), 0.4),
        *make("tutorial", (50, 50, 60), 0.1),
        *make("eole-bfloat16", (800, 900, 800), 0.3),
    ]
    return found


def test_figures_are_medians_over_rounds(findings):
    speeds, eager = findings.speeds, Variant("eager", 1)
    assert speeds.median(eager) == 1000
    assert speeds.median(eager, figure=target_speed) == 750
    assert speeds.median(eager, figure=utilization) == pytest.approx(0.72)
    assert padding_share([one.figures for one in speeds.rounds(eager)]) == pytest.approx(0.2)


def test_the_best_is_among_those_measured(findings):
    assert findings.speeds.best(("compiled", "tutorial", "eole")) == Variant("eole", 1)
    assert findings.speeds.best(("compiled",)) is None


def test_every_target_of_the_cpu_is_judged(findings):
    verdicts = {one.text: (one.found, one.word) for one in findings.verdicts()}
    assert verdicts == {
        "FLOP/s of the model / the device's peak": ("72.0%", "met"),
        "tokens per second / the best peer's": ("2.00 (rounds 1.50 to 3.00)", "met"),
        "the same, bfloat16 allowed": ("1.25 (rounds 1.11 to 1.50)", "missed"),
        "tokens per second / the tutorials' loop's": ("20.00 (rounds 18.00 to 20.00)", "met"),
    }


def test_targets_of_a_gpu_depend_on_the_shape(findings):
    findings.device, findings.shape = "cuda", "big"
    (verdict,) = findings.verdicts()
    assert (verdict.found, verdict.target, verdict.is_met) == ("750", "at least 300,000", False)
    findings.shape = "small"
    assert findings.verdicts() == []


def test_what_was_not_measured_is_not_judged():
    words = {one.word for one in TrainingFindings([], "cpu", "small").verdicts()}
    assert words == {"not measured"}


@pytest.mark.parametrize(("device", "memory"), [("cpu", "memory"), ("cuda", "GPU memory")])
def test_the_page_has_a_row_or_a_reason_for_everyone(make, device, memory):
    findings = TrainingFindings([Variant("joeynmt", 1), Variant("eager", 1)], device, "small")
    findings.measurements = make("eager", [1000])
    findings.start_seconds = {"eager": 3.0}
    findings.versions, findings.precisions = {"eager": "2.13"}, {"eager": "bfloat16"}
    findings.reasons = {"joeynmt": "no such package"}
    page = findings.page()
    speed = "1,000 | 750 | 1,000 to 1,000 | 20.0% | 50.0% | 1 | 3.0 | 64"
    assert f"| ours 2.13 | bfloat16 | {speed} |" in page
    assert f"| peak {memory}, MiB |" in page
    assert "| Joey NMT | – |" in page
    assert "Joey NMT: no such package" in page
    record = json.loads(findings.record())
    first = dict(zip(record["measurement_columns"], record["measurements"][0], strict=True))
    assert first.items() >= findings.measurements[0].figures.items()
    assert first["variant"] == "eager, 1 threads"
