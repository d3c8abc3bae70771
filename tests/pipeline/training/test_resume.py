"""Real training processes, killed and started again with the same command."""

import json
import os
import random
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import typer
from safetensors import safe_open

from pipeline.params import load_sections
from pipeline.recipes import make_params
from pipeline.training import fingerprint
from pipeline.training import resume as train_resume
from pipeline.training.fingerprint import fingerprint_training
from pipeline.training.resume import resumable
from transformer.model.config import ModelConfig
from transformer.training.config import TrainConfig
from transformer.training.distributed import Ranks
from transformer.training.interruption import TrainingStopped
from transformer.training.state import SavedState


@pytest.mark.slow
def test_term_and_interrupt_save_and_leave_and_the_same_command_goes_on(project, whole):
    stopped_at = 0
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        process = project.start()
        project.wait_for_steps(process, 40)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == code, printed
        assert project.going_on_from(printed) == stopped_at
        told = re.search(
            r"Stopped after step (\d+) of 900; the same command goes on from step (\d+)\.", printed
        )
        assert told, printed
        assert told[1] == told[2]
        stopped_at = int(told[1])
        assert stopped_at == project.steps()[-1][0]
        assert "Traceback" not in printed
        assert_format_1(*project.states())
        assert not (project.folder / "models").exists()
    assert stopped_at >= 80
    assert project.going_on_from(project.finish()) == stopped_at
    assert [step for step, _ in project.steps()] == list(range(1, 901))
    assert project.outcome() == whole.outcome()
    assert not list((project.folder / ".state" / "train").iterdir())


def assert_format_1(*states: Path) -> None:
    """What differs from this is another `fingerprint.FORMAT`: raise it, and change this."""
    assert states
    for path in states:
        state = json.loads(path.read_text())
        values = state["values"]
        assert set(values) == {
            "accuracies",
            "best_loss",
            "best_step",
            "code",
            "num_bad_validations",
            "num_target_tokens",
            "processes",
            "seconds",
            "snapshots",
            "threads of each",
            "train_rows",
            "valid_rows",
        }
        assert {len(row) for row in values["train_rows"]} <= {4}
        assert {len(row) for row in values["valid_rows"]} <= {4}
        groups = {name.split("-")[0] for name in state["files"]}
        assert groups <= {"mutable", "snapshot", "best"}
        with safe_open(path.parent / state["files"][state["mutable"]], "pt") as file:
            kinds = {name.split("/")[0] for name in file.keys()}  # noqa: SIM118
        assert kinds == {"weights", "optimizer", "sums", "accuracy"}


@pytest.mark.slow
def test_killed_ten_times_at_random_moments_it_ends_as_if_it_ran_through(project, whole):
    chance = random.Random()
    num_repeated, starts = 0, []
    for _ in range(10):
        first_line = len(project.steps())
        process = project.start()
        project.wait_for_steps(process, chance.randint(5, 75))
        time.sleep(chance.uniform(0, 0.05))  # at any point of a step, or of a save
        process.kill()
        printed, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
        starts.append(project.going_on_from(printed))
        done = project.steps()[first_line:]
        assert done[0][0] == starts[-1] + 1
        reached = project.steps()[-1][0]
        saved = max((int(path.name[5:14]) for path in project.states()), default=0)
        num_repeated += reached - saved
    starts.append(project.going_on_from(project.finish()))
    print(f"went on from {starts}; {num_repeated} steps of 900 done again")
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert starts[-1] > 0
    assert len({start for start in starts if start > 0}) > 3
    assert len(project.steps()) == 900 + num_repeated
    assert project.outcome() == whole.outcome()


@pytest.fixture
def sections(tmp_path, monkeypatch) -> tuple[TrainConfig, ModelConfig, Path]:
    """What `resumable` is handed, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "ids").mkdir()
    (tmp_path / "params.yaml").write_text(make_params("phrasebook", ["train.device=cpu"]))
    train, model = load_sections(("train", TrainConfig), ("model", ModelConfig))
    return train, model, tmp_path / "ids"


def saved_state(step: int) -> SavedState:
    return SavedState(step, {}, {"weights/w": torch.full((2,), float(step))}, {})


def save_and_die(sections, *steps: int) -> Path:
    with (
        suppress(ZeroDivisionError),
        resumable(fingerprint_training(*sections), Ranks()) as (resume, folder),
    ):
        for step in steps:
            resume.save(saved_state(step))
        raise ZeroDivisionError
    return folder


def test_the_newest_state_is_handed_on_until_training_is_through(sections, capsys):
    folder = save_and_die(sections, 1, 2, 3)
    assert folder.parent == sections[2].parent / ".state" / "train"
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        saved = resume.load()
    assert saved.step == 3
    assert saved.mutable["weights/w"].tolist() == [3.0, 3.0]
    assert re.search(r"Going on from step 3, saved as .*step-000000003", capsys.readouterr().err)
    assert not folder.exists()
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load() is None
    assert capsys.readouterr().err == ""


def test_a_damaged_state_is_named_and_the_one_before_it_handed_on(sections, capsys):
    folder = save_and_die(sections, 1, 2, 3)
    (newest,) = folder.glob("*/mutable-000000003*")
    newest.write_bytes(newest.read_bytes()[:-1])
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load().step == 2
    told = capsys.readouterr().err
    assert f"warning: {newest} is damaged" in told
    assert "Going on from step 2" in told


def test_with_no_sound_state_training_starts_at_the_beginning_and_says_so(sections, capsys):
    folder = save_and_die(sections, 1, 2)
    for path in folder.glob("*/mutable-*"):
        path.write_bytes(b"")
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load() is None
    told = capsys.readouterr().err
    assert told.count("is damaged") == 2
    assert "no sound state is left; training starts at the beginning" in told


def test_other_params_do_not_go_on_from_it(sections):
    save_and_die(sections, 1)
    train, model, ids = sections
    other = train.model_copy(update={"learning_rate": 0.1})
    with resumable(fingerprint_training(other, model, ids), Ranks()) as (resume, _):
        assert resume.load() is None
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load().step == 1


def test_changed_code_is_named_and_the_state_gone_on_from(sections, capsys, monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        hash_code = fingerprint.hash_code
        edited = dict.fromkeys(("transformer/training/loss.py", "transformer/model/norm.py"), "-")
        patch.setattr(fingerprint, "hash_code", lambda stage: hash_code(stage) | edited)
        folder = save_and_die(sections, 1)
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load().step == 1
        resume.save(saved_state(2))
        resume.flush()
        told = capsys.readouterr().err
        named = "transformer/model/norm.py, transformer/training/loss.py"
        assert f"warning: code has changed since that state was saved: {named}; " in told
        assert f"delete {folder} and train from the beginning" in told
        assert resume.load().step == 2  # of the code as it is now
        assert "warning" not in capsys.readouterr().err


def test_ranks_with_other_code_are_refused(sections):
    values = set()

    class Recording(Ranks):
        def require_same(self, value: str, what: str) -> None:
            values.add(value)

    training = fingerprint_training(*sections)
    for code in (training.code, {**training.code, "transformer/files.py": "other"}):
        with resumable(training._replace(code=code), Recording()):
            pass
    assert len(values) == 2


def test_an_experiment_keeps_its_state_in_the_main_checkout(sections, monkeypatch, tmp_path):
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / ".dvc" / "tmp" / "exps" / "copy1"))
    folder = save_and_die(sections, 1)
    assert folder.parent == tmp_path / ".state" / "train"
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / ".dvc" / "tmp" / "exps" / "copy2"))
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load().step == 1


def test_a_full_disk_is_told_and_training_goes_on(sections, capsys, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
        assert resume.load() is None
        resume.save(saved_state(1))
        monkeypatch.setattr(train_resume.StateStore, "save", full)
        resume.save(saved_state(2))
    assert "warning: step 2 can't be saved (No space left" in capsys.readouterr().err


def test_a_stop_tells_what_is_kept(sections, capsys):

    def stop(*steps: int) -> None:
        with resumable(fingerprint_training(*sections), Ranks()) as (resume, _):
            for step in steps:
                resume.save(saved_state(step))
            os.kill(os.getpid(), signal.SIGTERM)
            assert resume.is_stop_requested()
            raise TrainingStopped(steps[-1] if steps else 0, 9)

    with pytest.raises(typer.Exit) as caught:
        stop()
    assert caught.value.exit_code == 143
    assert "Stopped after step 0 of 9; nothing is saved." in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        stop(1, 4)
    assert "step 4 of 9; the same command goes on from step 4." in capsys.readouterr().err


def test_while_another_checkout_trains_the_same_nothing_is_kept(sections, capsys, monkeypatch):
    def in_use(_):
        raise train_resume.InUseElsewhereError("process 1 runs the same training elsewhere")

    monkeypatch.setattr(train_resume, "hold_folder", in_use)
    with resumable(fingerprint_training(*sections), Ranks()) as (resume, folder):
        assert (resume.load(), resume.save, folder) == (None, None, None)
        assert not resume.is_stop_requested()
    assert "warning: process 1 runs the same training elsewhere" in capsys.readouterr().err
