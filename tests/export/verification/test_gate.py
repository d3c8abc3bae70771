"""Which graphs pass, and what is told of them."""

import csv
import json
from dataclasses import replace

import pytest

from transformer.evaluation.scores import ScoreDifference
from transformer.export.config import ExportConfig
from transformer.export.verification.gate import Verdict, choose_defaults, find_problems
from transformer.export.verification.histogram import bin_edges, count_bins
from transformer.export.verification.parity import Difference, Parity, Reference
from transformer.export.verification.report import (
    headline_metrics,
    list_metrics,
    summarize,
    two_digits,
    write_reports,
)

REFERENCE = Reference([], [], 30.0, "nrefs:1")
NEAR = Difference(3, "a b", "a c", -0.51234567, -0.5, 1.234e-7, True)
FAR = replace(NEAR, margin=0.01, is_near_tie=False)


def make_config(**changes):
    values = {
        "attention": "fused",
        "precisions": ["float32", "int8"],
        "shortlist": None,
        "max_bleu_difference": 0.1,
        "max_logit_difference": 1e-3,
        "near_tie_margin": None,
        "max_bleu_loss": 0.3,
    }
    return ExportConfig(**(values | changes))


def a_parity(precision="float32", change=0.05, **changes):
    values = {
        "precision": precision,
        "num_sentences": 10,
        "differences": [NEAR],
        "score_differences": [0.0, 1e-7, 1.234e-6],
        "near_tie_margin": 2e-6,
        "max_logit_difference": 1e-5,
        "bleu": 30.0 + change,
        "bleu_change": ScoreDifference(change, change - 0.2, change + 0.1, 0.5),
    }
    return Parity(**(values | changes))


def problems(**changes):
    return find_problems(a_parity(**changes), REFERENCE, make_config())


def test_near_ties_pass():
    assert problems() == []
    assert a_parity().identical_share == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"differences": [FAR]}, "1 of 10 translations differ by more than a near-tie"),
        ({"change": 0.2}, "BLEU is 30.00 in PyTorch and 30.20 in ONNX; export.max_bleu_difference"),
        ({"change": -0.2}, "BLEU is 30.00 in PyTorch and 29.80 in ONNX; export.max_bleu_differenc"),
        ({"max_logit_difference": 0.02}, "up to 0.02; export.max_logit_difference = 0.001"),
        ({"max_logit_difference": float("nan")}, "by up to nan"),
    ],
)
def test_each_tolerance_of_float32_is_held(changes, message):
    (problem,) = problems(**changes)
    assert message in problem


@pytest.mark.parametrize("precision", ["int8", "float16"])
def test_narrower_graphs_are_judged_by_the_bleu_that_they_lose(precision):
    far = {"differences": [FAR] * 5, "max_logit_difference": 2.0}
    assert problems(precision=precision, change=-0.3, **far) == []
    assert problems(precision=precision, change=5.0, **far) == []  # a gain never fails
    (problem,) = problems(precision=precision, change=-0.31)
    assert problem == (
        f"BLEU is 30.00 in PyTorch and 29.69 in {precision}, 0.31 less; "
        "export.max_bleu_loss = 0.3 is allowed"
    )


def test_short_lists_are_named_where_they_may_be_the_cause():
    lists = {"num_frequent": 10, "num_per_token": 2}
    config = make_config(shortlist=lists)
    (problem,) = find_problems(a_parity("int8", change=-0.5), REFERENCE, config)
    assert problem.endswith("longer lists in export.shortlist, or null, may lose less")
    (problem,) = find_problems(a_parity("float16", change=-0.5), REFERENCE, config)
    assert "shortlist" not in problem


def verdicts(**problems):
    return [
        Verdict(a_parity(precision), 1000, ["lost"] if problems.get(precision) else [], "cpu")
        for precision in ("float32", "int8", "float16")
    ]


def test_the_default_is_the_best_that_passed():
    assert choose_defaults(verdicts()) == {"cpu": "int8", "cuda": "float16"}
    assert choose_defaults(verdicts(int8=True)) == {"cpu": "float32", "cuda": "float16"}
    assert choose_defaults(verdicts(float16=True)) == {"cpu": "int8", "cuda": "float32"}
    assert choose_defaults(verdicts()[:1]) == {"cpu": "float32", "cuda": "float32"}


def test_metrics_have_a_prefix_but_for_float32():
    metrics = list_metrics(REFERENCE, verdicts(int8=True)[:2])
    assert metrics["pytorch_bleu"] == 30.0
    assert metrics["onnx_bleu"] == 30.05
    assert (metrics["num_near_ties"], metrics["num_unexplained"]) == (1, 0)
    assert metrics["max_score_difference"] == 1.2e-6
    assert metrics["int8_bleu_loss"] == -0.05
    assert (metrics["int8_bleu_loss_low"], metrics["int8_bleu_loss_high"]) == (-0.15, 0.15)
    assert metrics["int8_identical_share"] == 0.9
    assert metrics["int8_passed"] is False


def test_lines_and_metrics_tell_what_each_graph_ran_on():
    float32, int8, float16 = verdicts()
    float16 = replace(float16, measured_on="cuda")
    lines = summarize(REFERENCE, [float32, int8, float16]).splitlines()
    assert [line.partition("; run on ")[2] for line in lines] == ["", "CPU", "CPU", "CUDA"]
    metrics = list_metrics(REFERENCE, [float32, int8, float16])
    assert (metrics["int8_measured_on"], metrics["float16_measured_on"]) == ("cpu", "cuda")


def test_further_sets_stand_below_the_test_set_by_name():
    sets = {"typos": a_parity("int8", change=-1.5, bleu=20.123)}
    float32, int8 = (
        replace(verdict, sets={"typos": replace(sets["typos"], precision=verdict.parity.precision)})
        for verdict in verdicts()[:2]
    )
    reference = replace(REFERENCE, sets={"typos": replace(REFERENCE, bleu=21.5, sha256="c")})
    metrics = list_metrics(reference, [float32, int8])
    assert metrics["onnx_bleu"] == 30.05
    assert metrics["sets"]["typos"]["int8_bleu"] == 20.123
    assert metrics["sets"]["typos"]["int8_bleu_loss"] == 1.5
    assert metrics["sets"]["typos"]["sha256"] == "c"
    assert headline_metrics(reference, [float32, int8]) == {
        "onnx_bleu": 30.05,
        "int8_bleu": 30.05,
        "typos.onnx_bleu": 20.12,
        "typos.int8_bleu": 20.12,
    }
    told = summarize(reference, [float32, int8])
    assert told.count("typos: BLEU 20.12  -1.50 in [-1.70, -1.40]") == 2


def test_no_loss_is_plain_zero():
    metrics = list_metrics(REFERENCE, [Verdict(a_parity(change=0.0), 1, [], "cpu")] * 2)
    assert str(metrics["float32_bleu_loss"]) == "0.0"


def test_reports_are_the_same_for_the_same_figures(tmp_path):
    for name in ("one", "two"):
        write_reports(tmp_path / name, REFERENCE, verdicts(int8=True), make_config())
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert set(files) == {"export.json", "differences.json", "parity.csv", "parity.png"}
    listed = json.loads(files["differences.json"])
    assert set(listed) == {"float32", "int8", "float16"}
    assert listed["float32"][0]["margin"] == 1.2e-7
    assert listed["float32"][0]["pytorch_score"] == -0.5123


def test_the_histogram_holds_every_sentence_once(tmp_path):
    differences = [0.0, 1e-12, 1e-8, 1.1e-6, 0.1, 0.999, 1.0, 50.0]
    counts = count_bins(differences)
    assert sum(counts) == len(differences)
    assert (counts[0], counts[-1]) == (3, 3)
    assert bin_edges()[counts.index(1)] == -6.0
    write_reports(tmp_path, REFERENCE, verdicts()[:1], make_config())
    with (tmp_path / "parity.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["log10_score_difference", "float32", "int8", "float16"]
    assert sum(int(row["float32"]) for row in rows) == 3
    assert sum(int(row["int8"]) for row in rows) == 0


@pytest.mark.parametrize("precisions", [["int8"], ["int8", "float32"], ["float32", "float32"]])
def test_float32_comes_first_and_none_twice(precisions):
    with pytest.raises(ValueError, match="float32 must come first, and each stand once"):
        make_config(precisions=precisions)


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match=r"precisions.1\n.*'float32', 'int8' or 'float16'"):
        make_config(precisions=["float32", "int4"])


def test_two_digits_are_kept():
    assert two_digits(1.2345e-6) == 1.2e-6
    assert two_digits(0.0) == 0.0
