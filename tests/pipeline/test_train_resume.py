"""Real training processes, killed and started again with the same command."""

import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

from pipeline import train_resume
from pipeline.params import load_sections
from pipeline.recipes import make_params
from pipeline.train_resume import resumable
from pipeline.train_tracking import TrackingReporter
from transformer.files import sha256_file
from transformer.model.config import ModelConfig
from transformer.text.ids import write_ids
from transformer.text.tokenizer import TokenizerPair
from transformer.text.vocab_config import WordSpec
from transformer.text.vocabulary import fit_tokenizer
from transformer.training.capture import SavedState
from transformer.training.config import TrainConfig
from transformer.training.reporting import Speed, TrainRow, ValidRow
from transformer.training.stopping import TrainingStopped

ROOT = Path(__file__).parents[2]
SAVE_EVERY_SECONDS = 0.1

# The command as a user runs it, where neither MLflow nor DVC is installed. Each step goes, with
# its time, straight to a file that outlives the process.
DRIVER = """
import os, sys, time
for name in ("mlflow", "dvc"):
    sys.modules[name] = None
from transformer.training.reporting import ProgressBar
steps = os.open("steps.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
on_log = ProgressBar.on_log
def record(bar, row, speed):
    os.write(steps, f"{row.step} {time.time()}\\n".encode())
    on_log(bar, row, speed)
ProgressBar.on_log = record
sys.argv = ["pipeline", "train"]
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
    (folder / "data" / "ids").mkdir(parents=True)
    write_ids(
        folder / "data" / "ids",
        pairs[50:],
        pairs[:50],
        TokenizerPair(tokenizer, tokenizer),
        99,
    )
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


class Project:
    """A folder to train in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> "subprocess.Popen[str]":
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "DVC"))}
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            cwd=self.folder,
            env=environment | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
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
    assert "MLflow can't be written to" in printed
    return project


@pytest.fixture
def project(whole, tmp_path) -> Project:
    """The same, not trained yet."""
    shutil.copytree(whole.folder / "data", tmp_path / "data")
    shutil.copy(whole.folder / "params.yaml", tmp_path)
    return Project(tmp_path)


def going_on_from(printed: str) -> int:
    """The step that a process says it went on from; 0 if it said nothing."""
    found = re.search(r"Going on from step (\d+), saved as ", printed)
    return int(found[1]) if found else 0


def test_term_and_interrupt_save_and_leave_and_the_same_command_goes_on(project, whole):
    stopped_at = 0
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        process = project.start()
        project.wait_for_steps(process, 40)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == code, printed
        assert going_on_from(printed) == stopped_at
        told = re.search(
            r"Stopped after step (\d+) of 900; the same command goes on from step (\d+)\.", printed
        )
        assert told, printed
        assert told[1] == told[2]
        stopped_at = int(told[1])
        assert stopped_at == project.steps()[-1][0]
        assert "Traceback" not in printed
        assert project.states()
        assert not (project.folder / "models").exists()
    assert stopped_at >= 80
    assert going_on_from(project.finish()) == stopped_at
    assert [step for step, _ in project.steps()] == list(range(1, 901))
    assert project.outcome() == whole.outcome()
    assert not list((project.folder / ".state" / "train").iterdir())


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
        starts.append(going_on_from(printed))
        done = project.steps()[first_line:]
        assert done[0][0] == starts[-1] + 1
        reached = project.steps()[-1][0]
        saved = max((int(path.name[5:14]) for path in project.states()), default=0)
        num_repeated += reached - saved
        # What is lost began when the state was saved, or when the process began. Besides the
        # interval it holds, at most, that save and the step in which the next one fell due.
        since = [at for step, at in done if step >= saved]
        longest_step = max((b - a for a, b in itertools.pairwise(since)), default=0.0)
        assert since[-1] - since[0] <= SAVE_EVERY_SECONDS + 2 * longest_step + 0.01
    starts.append(going_on_from(project.finish()))
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
    with suppress(ZeroDivisionError), resumable(*sections) as (resume, folder):
        for step in steps:
            resume.save(saved_state(step))
        raise ZeroDivisionError
    return folder


def test_the_newest_state_is_handed_on_until_training_is_through(sections, capsys):
    folder = save_and_die(sections, 1, 2, 3)
    assert folder.parent == sections[2].parent / ".state" / "train"
    with resumable(*sections) as (resume, _):
        saved = resume.load()
    assert saved.step == 3
    assert saved.present["weights/w"].tolist() == [3.0, 3.0]
    assert re.search(r"Going on from step 3, saved as .*step-000000003", capsys.readouterr().err)
    assert not folder.exists()
    with resumable(*sections) as (resume, _):
        assert resume.load() is None
    assert capsys.readouterr().err == ""


def test_a_damaged_state_is_named_and_the_one_before_it_handed_on(sections, capsys):
    folder = save_and_die(sections, 1, 2, 3)
    (newest,) = folder.glob("*/present-000000003*")
    newest.write_bytes(newest.read_bytes()[:-1])
    with resumable(*sections) as (resume, _):
        assert resume.load().step == 2
    told = capsys.readouterr().err
    assert f"warning: {newest} is damaged" in told
    assert "Going on from step 2" in told


def test_with_no_sound_state_training_starts_at_the_beginning_and_says_so(sections, capsys):
    folder = save_and_die(sections, 1, 2)
    for path in folder.glob("*/present-*"):
        path.write_bytes(b"")
    with resumable(*sections) as (resume, _):
        assert resume.load() is None
    told = capsys.readouterr().err
    assert told.count("is damaged") == 2
    assert "no sound state is left; training starts at the beginning" in told


def test_other_params_do_not_go_on_from_it(sections):
    save_and_die(sections, 1)
    train, model, ids = sections
    other = train.model_copy(update={"learning_rate": 0.1})
    with resumable(other, model, ids) as (resume, _):
        assert resume.load() is None
    with resumable(*sections) as (resume, _):
        assert resume.load().step == 1


def test_an_experiment_keeps_its_state_in_the_main_checkout(sections, monkeypatch, tmp_path):
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / ".dvc" / "tmp" / "exps" / "copy1"))
    folder = save_and_die(sections, 1)
    assert folder.parent == tmp_path / ".state" / "train"
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / ".dvc" / "tmp" / "exps" / "copy2"))
    with resumable(*sections) as (resume, _):
        assert resume.load().step == 1


def test_a_full_disk_is_told_and_training_goes_on(sections, capsys, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    with resumable(*sections) as (resume, _):
        assert resume.load() is None
        resume.save(saved_state(1))
        monkeypatch.setattr(train_resume.StateStore, "save", full)
        resume.save(saved_state(2))
    assert "warning: step 2 can't be saved (No space left" in capsys.readouterr().err


def test_a_stop_tells_what_is_kept(sections, capsys):

    def stop(*steps: int) -> None:
        with resumable(*sections) as (resume, _):
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
    with resumable(*sections) as (resume, folder):
        assert (resume.load(), resume.save, folder) == (None, None, None)
        assert not resume.is_stop_requested()
    assert "warning: process 1 runs the same training elsewhere" in capsys.readouterr().err


def test_steps_that_a_run_has_are_not_logged_again():
    class Log:
        def __init__(self):
            self.steps = []

        def tags(self, values):
            pass

        def last_step(self, metric):
            return {"train_loss": 20, "valid_loss": 10}[metric]

        def metrics(self, values, step):
            self.steps.append((step, "valid_loss" in values))

    log = Log()
    reporter = TrackingReporter(log)
    reporter.on_start(40, 9, 5)
    for step in (10, 20, 30):
        reporter.on_log(TrainRow(step, 1.0, 0.1, 1.0), Speed(1.0, 1.0))
        reporter.on_validation(ValidRow(step, 1.0, 2.7, 0.5))
    assert log.steps == [(20, True), (30, False), (30, True)]
