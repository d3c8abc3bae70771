"""One process at a time uses a folder, and folders that nobody uses go."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.training import resume_folder
from pipeline.training.resume_folder import InUseElsewhereError, hold_folder

ROOT = Path(__file__).parents[3]
HOLD = """
import sys, time
from pathlib import Path
from pipeline.training.resume_folder import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Starts a process that holds a folder, from a checkout of its own."""
    processes = []

    def start(folder: Path, checkout: Path) -> subprocess.Popen[str]:
        checkout.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder)],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def enter(folder: Path) -> None:
    with hold_folder(folder):
        pass


def test_the_same_training_in_the_same_checkout_is_refused_with_what_to_do(
    tmp_path, holder, monkeypatch
):
    process = holder(tmp_path / "state", tmp_path / "checkout")
    monkeypatch.chdir(tmp_path / "checkout")
    with pytest.raises(
        ValueError, match=rf"process {process.pid} .*stop it with `kill {process.pid}`"
    ):
        enter(tmp_path / "state")


def test_the_same_training_in_another_checkout_is_told_apart(tmp_path, holder, monkeypatch):
    process = holder(tmp_path / "state", tmp_path / "copy")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InUseElsewhereError, match=rf"process {process.pid} .*copy"):
        enter(tmp_path / "state")


def test_a_killed_process_holds_nothing(tmp_path, holder, monkeypatch):
    process = holder(tmp_path / "state", tmp_path / "checkout")
    process.kill()
    process.wait()
    monkeypatch.chdir(tmp_path / "checkout")
    enter(tmp_path / "state")


def make(folder: Path, age_days: float) -> Path:
    (folder / "a").mkdir(parents=True)
    then = time.time() - age_days * 24 * 3600
    for path in (folder / "a", folder):
        os.utime(path, (then, then))
    return folder


def test_old_folders_go_and_young_ones_stay(tmp_path):
    old = make(tmp_path / "old", 15)
    young = make(tmp_path / "young", 13)
    enter(tmp_path / "own")
    assert not old.exists()
    assert young.exists()
    assert (tmp_path / "own").exists()


def test_the_newest_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(resume_folder, "_MAX_FOLDERS", 3)
    folders = [make(tmp_path / str(age), age) for age in range(1, 5)]
    enter(tmp_path / "own")
    assert [folder.exists() for folder in folders] == [True, True, False, False]


def test_an_old_folder_in_use_stays(tmp_path, holder):
    folder = tmp_path / "old"
    holder(folder, tmp_path / "checkout")
    then = time.time() - 15 * 24 * 3600
    os.utime(folder, (then, then))
    enter(tmp_path / "own")
    assert (folder / "owner.json").exists()
