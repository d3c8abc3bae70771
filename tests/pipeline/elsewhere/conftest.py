"""A project in which the stages before `train` have run, by its files alone, and a copy of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.elsewhere.record import STAGES, SUMS, PackedStage, Recorder
from pipeline.recipes import make_params
from pipeline.repository import output_paths

FILES = (
    "data/raw/manifest.json",
    "data/raw/train.parquet",
    "data/raw/test.parquet",
    "data/clean/manifest.json",
    "data/clean/test.parquet",
    "data/ids/meta.json",
    "data/ids/train.source.bin",
    "models/tokenizer/tokenizer.json",
    "models/pretrained/manifest.json",
    "pipeline/stages/train.py",
    "transformer/training/trainer.py",
)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """The working folder."""
    folder = tmp_path / "home"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "params.yaml").write_text(make_params("phrasebook", ["train.device=cpu"]))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run_there(home, tmp_path, monkeypatch) -> Callable[..., Path]:
    """Runs stages in a copy of the project, as far as the record knows, and returns the copy."""
    box = tmp_path / "box"
    shutil.copytree(home, box)
    (box / SUMS).write_text("")

    def run(*stages: PackedStage, wrote: str = "result") -> Path:
        with monkeypatch.context() as there:
            there.chdir(box)
            for stage in stages or STAGES:
                recorder = Recorder(stage)
                for path in output_paths(stage):
                    file = path if path.suffix else path / "file"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(f"{wrote} of {stage}")
                recorder.finish()
        return box

    return run
