import subprocess
import sys

import pytest

from benchmarks.gpu.report import write_report
from benchmarks.harness.environment import ROOT
from transformer.files import read_json, write_json

FACTS = {"device": "NVIDIA Test", "torch": "2.11.0", "commit": "commit 1234567"}


def part(folder, name, **cells):
    write_json(folder / f"{name}.json", {"facts": FACTS, "cells": cells})


def test_targets_are_judged_and_what_is_missing_is_not(tmp_path):
    results = tmp_path / "results"
    part(results, "multi30k", evaluate={"bleu": 40.5})
    compiled = {"target_tokens_per_second": 700_000.0, "kernels": [["gemm", 0.5, 12.0]]}
    slow = {"target_tokens_per_second": 900_000.0}
    part(results, "speed-base", **{"25000 compiled": compiled, "100000 compiled": slow})
    part(results, "resume", **{"eager, deterministic": {"is_resumed": True}})
    page = write_report(results, tmp_path / "docs/h200.json")
    assert (tmp_path / "docs/h200.md").read_text() == page
    assert read_json(tmp_path / "docs/h200.json")["multi30k"]["cells"]["evaluate"]["bleu"] == 40.5
    rows = dict(line.split(" | ", 1) for line in page.splitlines() if line.startswith("| "))
    assert rows["| Multi30k de→en, cased BLEU on test2016, beam 5"] == "40.5 | at least 40 | met |"
    assert rows["| base, target tokens/s at 25,000 a batch, best form"].startswith(
        "700,000 | at least 800,000 | missed"
    )
    assert rows["| big, target tokens/s at 25,000 a batch, best form"].endswith("| not measured |")
    assert rows["| resume exact with train.deterministic, eager"].endswith("| at least 1 | met |")
    assert page.index("| 25000 compiled") < page.index("| 100000 compiled")
    assert "- 25000 compiled: `gemm` 50.0%, 12 calls a step" in page
    assert "NVIDIA Test" in page.splitlines()[0]


def test_a_cell_that_failed_says_why(tmp_path):
    part(tmp_path, "loss", usual={"error": "RuntimeError: a | b\nc"})
    assert "| usual | RuntimeError: a / b c |" in write_report(tmp_path, tmp_path / "h200.json")


def test_no_results_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no results; .*gpu check"):
        write_report(tmp_path, tmp_path / "h200.json")


def test_a_machine_with_a_gpu_needs_no_more_packages_than_training_does():
    modules = ["__main__", "check", "multi30k", "speed", "resume", "kernels", "graphs"]
    code = f"""
import sys
from importlib import import_module
for name in {modules}:
    import_module("benchmarks.gpu." + name)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert not set(loaded) & {"dvc", "mlflow", "datasets", "psutil"}
