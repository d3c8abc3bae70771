"""The training benchmark as a command, with real workers at a small size."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.harness.environment import ROOT, UnavailableError
from benchmarks.training import __main__ as training
from benchmarks.training import run as training_run

SMALL = ["--synthetic", "200", "--batch-tokens", "96", "--threads", "1"]
SMALL += ["--rounds", "2", "--seconds", "0", "--warm-up", "0"]


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(training, "NUM_SYNTHETIC_PAIRS", {"cpu": 300})
    app = typer.Typer()
    app.command()(training.main)

    def invoke(*options):
        return CliRunner().invoke(app, [*SMALL, *options])

    return invoke


@pytest.mark.slow
def test_all_that_needs_no_peer_is_measured(run, tmp_path):
    page = tmp_path / "training.md"
    names = "tutorial,plain,eager,eager-bfloat16"
    result = run("--contenders", names, "--output", str(page))
    assert result.exit_code == 0, result.output
    record = json.loads(page.with_suffix(".json").read_text())
    assert not record["reasons"]
    in_half = {who for who, precision in record["precisions"].items() if precision == "bfloat16"}
    assert in_half == {"eager-bfloat16"}
    columns = record["measurement_columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in record["measurements"]]
    assert {row["variant"] for row in rows} == {f"{who}, 1 threads" for who in names.split(",")}
    for row in rows:
        assert 0 < row["source_tokens"] + row["target_tokens"] <= row["num_slots"]
        assert row["flops"] > 0
        assert row["peak_flops"] > 0
    assert page.read_text() in result.output


def test_our_threads_spin_for_a_bounded_time_before_torch_starts_them():
    code = """
import os, sys
from benchmarks.training import worker
from transformer import threads
def stop():
    sys.exit(f"torch is loaded: {'torch' in sys.modules}")
threads.bound_spinning = stop
worker.train_ours(None, None, False, None)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == "torch is loaded: False\n"


@pytest.mark.slow
def test_the_large_shapes_that_a_gpu_is_measured_with_train(run):
    result = run("--contenders", "eager", "--shape", "base", "--rounds", "1")
    assert result.exit_code == 0, result.output
    assert "6 + 6 layers, d 512, ff 2048, 8 heads" in result.output


def test_peers_that_can_not_be_installed_leave_their_reason(run, monkeypatch):
    def fail(environment):
        raise UnavailableError("no package index")

    monkeypatch.setattr(training_run, "ensure_environment", fail)
    result = run("--contenders", "joeynmt,eole")
    assert result.exit_code == 0, result.output
    assert "Joey NMT: no package index" in result.output
    assert "eole: no package index" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--contenders", "marian"], "marian: allowed are tutorial"),
        (["--shape", "huge"], "huge: allowed are tiny, small, base, big"),
    ],
)
def test_unknown_names_are_refused(run, options, message):
    result = run(*options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
