"""Every part in miniature, by its command, on what `pack` wrote."""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks.gpu import multi30k, packing
from benchmarks.gpu.cells import UnfinishedError
from benchmarks.gpu.packing import pack
from pipeline.recipes import make_params
from transformer.files import read_json

# A package that is installed here, in a wheel of nothing.
LACKING, VERSION = "annotated-types", metadata.version("annotated-types")
WHEEL = f"annotated_types-{VERSION}"
METADATA = f"Metadata-Version: 2.1\nName: {LACKING}\nVersion: {VERSION}\n"
ROOT = Path(__file__).parents[3]
TINY = (
    "corpus.num_pairs=1500",
    "corpus.seed=3",
    "vocab.joint.size=600",
    "model.d_model=32",
    "model.d_ff=64",
    "model.num_heads=2",
    "model.num_encoder_layers=1",
    "model.num_decoder_layers=1",
    "train.max_epochs=2",
    "train.schedule.warmup_steps=10",
    # As multi30k-de-en has it.
    "train.learning_rate=0.004",
    "train.optimizer={kind: adamw, beta1: 0.9, beta2: 0.98, epsilon: 1.0e-9, weight_decay: 0.01}",
    "search.beam_size=2",
    "evaluate.num_bootstrap=40",
    "evaluate.num_attention_plots=1",
)
# What a user calls, in the order of the README.
PARTS = ("check", "multi30k", "speed base", "resume", "loss", "attention", "onnx")


def run(folder, *command, **variables):
    """With one thread, and a compiler that leaves functions as they are: it would take minutes."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "DVC"))}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TORCH_COMPILE_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A small phrasebook with a small model, trained for moments."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "params.yaml").write_text(make_params("phrasebook", list(TINY)))
    (folder / "data").mkdir()
    (folder / "data/phrasebook").symlink_to(ROOT / "data/phrasebook")
    for stage in ("download", "synthesize", "clean", "vocab", "tokenize", "pretrain", "train"):
        code, printed = run(folder, "-m", "pipeline", stage, MLFLOW_TRACKING_URI="http://[::1]:9")
        assert code == 0, printed
    return folder


@pytest.fixture(scope="module")
def packed(project, tmp_path_factory):
    """Packed with a wheel of no index: pip is told of a folder."""
    index = tmp_path_factory.mktemp("index")
    with zipfile.ZipFile(index / f"{WHEEL}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{WHEEL}.dist-info/METADATA", METADATA)
        wheel.writestr(f"{WHEEL}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    folder = tmp_path_factory.mktemp("gpu") / "packed"
    options = ["--project", str(project), "--translator", str(project), "--wheels", LACKING]
    code, printed = run(
        ROOT,
        *("-m", "benchmarks.gpu", "pack", str(folder), "--tiny", *options),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(index),
    )
    assert code == 0, printed
    assert [path.name for path in (folder / "wheels").iterdir()] == [f"{WHEEL}-py3-none-any.whl"]
    return folder


@pytest.mark.slow
def test_every_part_runs_and_the_report_has_them_all(packed, tmp_path):
    options = ["--packed", str(packed), "--output", str(tmp_path / "results")]
    for part in PARTS:
        command = ["-m", "benchmarks.gpu", *part.split(), *options, "--device", "cpu", "--tiny"]
        code, printed = run(ROOT, *command)
        assert code == 0, printed
        path = tmp_path / "results" / f"{part.replace(' ', '-')}.json"
        cells = read_json(path)["cells"]
        assert cells, part
        for name, values in cells.items():
            assert "error" not in values, (part, name, values)
    check = read_json(tmp_path / "results/check.json")["cells"]
    assert check["float32 compiled"]["largest_relative_difference"] < 1e-6
    assert check["bfloat16 eager"]["is_within"]
    assert check["save and resume"]["is_same_weights"]
    resume = read_json(tmp_path / "results/resume.json")["cells"]
    assert all(values["is_repeated"] and values["is_resumed"] for values in resume.values())
    onnx = read_json(tmp_path / "results/onnx.json")["cells"]
    assert onnx["float32, beam 5"]["share_equal_to_pytorch"] == 1.0
    options = ["--output", str(tmp_path / "results"), "--to", str(tmp_path / "h200.json")]
    code, printed = run(ROOT, "-m", "benchmarks.gpu", "report", *options)
    assert code == 0, printed
    assert all(f"## {part.replace(' ', '-')}" in printed for part in PARTS)


class Impatient(subprocess.Popen):
    """Its time is up once training has logged a step."""

    def wait(self, timeout=None):
        if timeout is not None:
            while not self._has_logged_a_step() and self.poll() is None:
                time.sleep(0.05)
            raise subprocess.TimeoutExpired(self.args, timeout)
        return super().wait()

    def _has_logged_a_step(self):
        logs = Path(self.cwd).glob("logs/train-*.jsonl")
        return any('"event": "train"' in log.read_text() for log in logs)

    def __init__(self, *arguments, cwd, **options):
        self.cwd = cwd
        super().__init__(*arguments, cwd=cwd, **options)


@pytest.mark.slow
def test_training_goes_on_at_the_next_call_where_time_ended(
    packed, make_setting, tmp_path, monkeypatch
):
    shutil.copytree(packed / "project", tmp_path / "slow/project")
    text = make_params("phrasebook", [*TINY, "train.max_epochs=60"])
    (tmp_path / "slow/project/params.yaml").write_text(text)
    train = multi30k.list_cells(make_setting(packed=tmp_path / "slow"), "multi30k")[0].measure
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", Impatient)
        with pytest.raises(UnfinishedError, match="train goes on at the next call"):
            train()
    values = train()
    log = (tmp_path / "project/train.log").read_text()
    stopped, went_on = (re.search(rf"{what} step (\d+)", log)[1] for what in ("after", "on from"))
    assert stopped == went_on
    steps = [step for step, _, _ in values["curve"]]
    assert len(steps) == values["epochs"] == 60
    assert steps == sorted(set(steps))


def test_a_package_that_is_not_here_can_not_be_named_for_the_other_machine(tmp_path):
    with pytest.raises(ValueError, match="--wheels: no-such-package is not installed here"):
        packing._download(["no-such-package"], "3.12", tmp_path)


def test_a_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is there already; give a folder that is new or empty"):
        pack(tmp_path, tmp_path, tmp_path, (), "3.12", True)


def test_a_translator_without_weights_is_refused_with_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "pack_project", lambda project, folder: [])
    with pytest.raises(ValueError, match=r"models/checkpoint, .* missing; run `dvc repro evaluate"):
        pack(tmp_path / "packed", tmp_path, tmp_path, (), "3.12", True)
    assert not (tmp_path / "packed").exists()


def test_a_part_without_what_was_packed_says_what_to_run(tmp_path):
    code, printed = run(tmp_path, "-m", "benchmarks.gpu", "check", "--device", "cpu")
    assert code == 1
    assert ".gpu/packed: no such folder; `python -m benchmarks.gpu pack` writes it" in printed
