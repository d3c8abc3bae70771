"""A small training project, and real processes that train in it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.recipes import load_recipe, make_params
from transformer.files import sha256_file
from transformer.text.corpus import part_path, write_pairs
from transformer.text.tokenizer import TokenizerPair
from transformer.text.tokenizing import write_corpus_ids
from transformer.text.vocab_config import WordSpec
from transformer.text.vocabulary import fit_tokenizer

ROOT = Path(__file__).parents[2]
SAVE_EVERY_SECONDS = 0.1

# The command as a user runs it, where neither MLflow nor DVC is installed. Each step goes, with
# its time, straight to a file that outlives the process.
DRIVER = """
import os, sys, time
for name in ("mlflow", "dvc"):
    sys.modules[name] = None
from transformer.monitoring.progress import ProgressBar
steps = os.open("steps.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
on_log = ProgressBar.on_log
def record(bar, row, speed):
    os.write(steps, f"{row.step} {time.time()}\\n".encode())
    on_log(bar, row, speed)
ProgressBar.on_log = record
sys.argv[0] = "pipeline"
from pipeline.__main__ import main
main()
"""


def write_project(folder: Path, *changes: str) -> None:
    """Params and ids of a training that takes some ten seconds."""
    generator = np.random.default_rng(1)

    def sentence():
        return " ".join(f"word{n}" for n in generator.integers(0, 50, generator.integers(1, 9)))

    pairs = [(text, text) for text in (sentence() for _ in range(600))]
    tokenizer = fit_tokenizer(
        WordSpec(kind="word", boundary="sign", size=99, min_frequency=1),
        [source for source, _ in pairs],
    )
    (folder / "models" / "tokenizer").mkdir(parents=True)
    tokenizers = TokenizerPair(tokenizer, tokenizer)
    tokenizers.save(folder / "models" / "tokenizer")
    (folder / "data" / "ids").mkdir(parents=True)
    for part, some in (("train", pairs[50:]), ("valid", pairs[:50])):
        write_pairs(part_path(folder / "data" / "clean", part), some)
    write_corpus_ids(folder / "data" / "clean", folder / "data" / "ids", tokenizers, 99)
    small = ["num_encoder_layers=1", "num_decoder_layers=1", "d_model=32", "d_ff=64", "num_heads=2"]
    train = [
        "device=cpu",
        "num_threads=1",
        "batch_tokens=256",
        "max_epochs=1000",
        "max_steps=900",
        "schedule.warmup_steps=20",
        "validate_every_steps=50",
        "average_checkpoints=3",
        "early_stopping_patience=100",
        "log_every_steps=1",
        f"save_every_seconds={SAVE_EVERY_SECONDS}",
    ]
    changes = (*(f"model.{c}" for c in small), *(f"train.{c}" for c in train), *changes)
    (folder / "params.yaml").write_text(make_params("phrasebook", list(changes)))


def going_on_from(printed: str) -> int:
    """The step that a process says it went on from; 0 if it said nothing."""
    found = re.search(r"Going on from step (\d+), saved as ", printed)
    return int(found[1]) if found else 0


class Project:
    """A folder to train in, by the command `stage`."""

    stage = "train"
    save_every_seconds = SAVE_EVERY_SECONDS
    going_on_from = staticmethod(going_on_from)

    def __init__(self, folder: Path, *changes: str) -> None:
        self.folder = folder
        if changes:
            write_project(folder, *changes)

    def start(
        self,
        command: Sequence[str] = (),
        path: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
    ) -> "subprocess.Popen[str]":
        """Starts a command, the driver above by default; `path` goes before Python's own."""
        command = command or (sys.executable, "-c", DRIVER, self.stage)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "DVC"))}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment
            | {"PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))), "OMP_NUM_THREADS": "1"}
            | dict(variables or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A shell's background jobs, and so what CI starts there, inherit a SIGINT that is
            # ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def steps(self) -> list[tuple[int, float]]:
        """(step, time) of every whole line, repeated steps too."""
        path = self.folder / "steps.txt"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [(int(step), float(at)) for step, at in (line.split() for line in lines)]

    def wait_for_steps(self, process: "subprocess.Popen[str]", num_steps: int) -> None:
        """Until so many more steps than before are done."""
        before = len(self.steps())
        while len(self.steps()) < before + num_steps:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.005)

    def finish(self) -> str:
        process = self.start()
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
        return printed

    def outcome(self) -> dict[str, str]:
        """The hash of every file that DVC would track."""
        files = [
            "models/checkpoint/model.safetensors",
            "models/checkpoint/config.json",
            "reports/train_curve.csv",
            "reports/valid_curve.csv",
            "reports/train.json",
            "reports/metrics/train.json",
        ]
        return {name: sha256_file(self.folder / name) for name in files}

    def states(self) -> list[Path]:
        return list((self.folder / ".state" / "train").glob("*/*/step-*.json"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Project:
    """Trained by one process that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    write_project(folder)
    project = Project(folder)
    printed = project.finish()
    assert "Going on" not in printed
    assert "mlflow is not inst" in printed
    return project


@pytest.fixture
def project(whole, tmp_path) -> Project:
    """The same, not trained yet."""
    shutil.copytree(whole.folder / "data", tmp_path / "data")
    shutil.copy(whole.folder / "params.yaml", tmp_path)
    return Project(tmp_path)


@pytest.fixture(scope="session")
def project_type() -> type[Project]:
    return Project


@pytest.fixture(scope="session")
def make_pretrain() -> Callable[..., str]:
    """Makes a section `pretrain`, as a change for a recipe, with changes to its own `train`."""

    def make(**train: Any) -> str:
        section = {
            "kind": "masked",
            "mask_probability": 0.15,
            "next_sentence": False,
            "dupe_factor": 1,
            "seed": 1,
        }
        section["text"] = {"source": None, "target": None}
        train = {"initial_embeddings": "random"} | train
        section["train"] = load_recipe("phrasebook")["train"] | train
        return f"pretrain={json.dumps(section)}"

    return make


@pytest.fixture
def make_project(tmp_path):
    """Makes a project with changes to its params, in a folder of its own."""
    return lambda name, *changes: Project(tmp_path / name, *changes)
