"""The table and the picture of several models, and what a student is held against."""

import pytest

from benchmarks.decoding.findings import Cell
from benchmarks.decoding.front import ENGINES, FrontFindings, draw
from transformer.evaluation.scores import ScoreInterval

SPEEDS = {
    ("big", "ctranslate2-int8", 5): 100,
    ("big", "ctranslate2-int8-shortlist", 5): 120,
    ("big", "onnx-float32", 5): 90,
    ("small", "onnx-int8", 1): 500,
}


@pytest.fixture
def findings(measured):
    found = [
        one
        for (model, engine, beam), speed in SPEEDS.items()
        for one in measured(f"{model} {engine}", [speed], cell=Cell(1, beam))
    ]
    cells = [Cell(1, 1), Cell(1, 5)]
    bleu = {
        (f"{model} {engine}", beam): ScoreInterval(40 - len(model), 30, 42)
        for model, engine, beam in SPEEDS
    }
    return FrontFindings([], ["big", "small"], cells, bleu, measurements=found)


def test_the_best_translations_stand_first(findings):
    lines = findings.table().splitlines()
    assert lines[0] == "| model | by | search | tokens/s, batch 1 | BLEU |"
    assert lines[2].endswith("| beam 5 | 90 | 37.00 [30.00, 42.00] |")
    assert lines[-1] == "| small | ours: ONNX int8 | greedy | 500 | 35.00 [30.00, 42.00] |"


def test_a_student_is_held_against_the_quickest_way_to_run_its_teacher(findings):
    loss, speed = findings.verdicts()
    assert (loss.found, loss.word) == ("-2.00", "missed")
    assert (speed.found, speed.word) == ("4.17", "met")
    findings.bleu.clear()
    findings.measurements.clear()
    assert {one.word for one in findings.verdicts()} == {"not measured"}


def test_the_picture_has_a_sign_for_each_engine(findings, tmp_path):
    draw(tmp_path / "front.png", findings)
    assert (tmp_path / "front.png").stat().st_size > 10_000
    assert len(ENGINES) == len("os^vD")
