"""The packed project, trained to the end and scored."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.gpu.cells import PROJECT, Cell, Setting, UnfinishedError
from benchmarks.harness.environment import project_environment
from transformer.files import read_json

# What saving takes, after a training was asked to stop.
_SECONDS_TO_STOP = 25


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """The cells of the part `multi30k`; training goes on where the last call's time ended."""
    return [
        Cell("train", lambda: _train(setting), 60),
        Cell("evaluate", lambda: _evaluate(setting), 60),
    ]


def project_folder(setting: Setting) -> Path:
    """Where it is trained: what is to be adopted at home."""
    return setting.work / PROJECT


def _train(setting: Setting) -> dict[str, Any]:
    folder = project_folder(setting)
    if not folder.exists():
        shutil.copytree(setting.packed / PROJECT, folder)
    _run(setting, "train")
    logs = sorted((folder / "logs").glob("train-*.jsonl"), key=lambda path: path.stat().st_mtime)
    events = [json.loads(line) for line in logs[-1].read_text().splitlines()]
    rows = [event for event in events if event["event"] == "train"]
    curve = [
        [event["step"], event["valid_loss"], event["accuracy"]]
        for event in events
        if event["event"] == "valid"
    ]
    summary = read_json(folder / "reports/train.json")
    return {
        "seconds": rows[-1]["seconds"],
        "median_tokens_per_second": sorted(row["tokens_per_second"] for row in rows)[
            len(rows) // 2
        ],
        "peak_memory_gb": max(row["peak_memory_bytes"] for row in rows) / 1e9,
        "steps": summary["steps"],
        "epochs": summary["epochs"],
        "parameters": summary["num_parameters"],
        "valid_perplexity": summary["valid_perplexity"],
        "curve": curve,  # step, loss, accuracy
    }


def _evaluate(setting: Setting) -> dict[str, Any]:
    started = time.monotonic()
    _run(setting, "evaluate")
    values: dict[str, Any] = read_json(project_folder(setting) / "reports/evaluate.json")
    return values | {"seconds": time.monotonic() - started}


def _run(setting: Setting, stage: str) -> None:
    """One stage, as a user runs it; asked to stop when time is up."""
    folder = project_folder(setting)
    log = folder / f"{stage}.log"
    with log.open("a") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", stage],
            cwd=folder,
            env=project_environment(),
            stdout=file,
            stderr=file,
        )
        try:
            left = setting.deadline - time.monotonic() - _SECONDS_TO_STOP
            code = process.wait(max(left, 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise UnfinishedError(f"{stage} goes on at the next call") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code != 0:
        raise ValueError(f"{stage} ended with {code}: {log.read_text()[-2000:]}")
