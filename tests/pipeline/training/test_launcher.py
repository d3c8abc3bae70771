"""Real training commands of two processes, as a user starts, stops or loses them."""

import csv
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from pipeline.training.launcher import _GRACE_SECONDS, check_devices

ROOT = Path(__file__).parents[3]

TWO = ("train.num_processes=2", "train.gradient_accumulation=2", "train.batch_tokens=128")
PLAIN = (sys.executable, "-m", "pipeline", "train")
TORCHRUN = (
    *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    *("-m", "pipeline", "train"),
)
# Imported by every Python process that finds it: spoils one rank alone.
SPOILT = """
import os
if os.environ.get("RANK") == "1":
    import torch
    from transformer.training.trainer import Trainer
    step = Trainer._step
    def spoilt(trainer, *arguments):
        if trainer.state.step == 20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return step(trainer, *arguments)
    Trainer._step = spoilt
"""

# All ranks stay in a step for long.
STUCK = """
import os
if "RANK" in os.environ:
    import pathlib, time
    from transformer.training.trainer import Trainer
    step = Trainer._step
    def stuck(trainer, *arguments):
        if trainer.state.step == 40:
            pathlib.Path("stuck").touch()
            time.sleep(300)
        return step(trainer, *arguments)
    Trainer._step = stuck
"""

# The first rank takes its time over the checkpoint.
LATE = """
import os
if os.environ.get("RANK") == "0":
    import pathlib, time
    import transformer.model.checkpoint as checkpoint
    save = checkpoint.save_checkpoint
    def late(*arguments):
        pathlib.Path("late").touch()
        time.sleep(2)
        save(*arguments)
    checkpoint.save_checkpoint = late
"""


def finish(process):
    printed, _ = process.communicate(timeout=120)
    return printed


def assert_same_curves(first, second):
    for name in ("train_curve", "valid_curve"):
        rows = [
            list(csv.reader((project.folder / "reports" / f"{name}.csv").open()))
            for project in (first, second)
        ]
        assert len(rows[0]) == len(rows[1]) > 2
        for one, other in zip(rows[0][1:], rows[1][1:], strict=True):
            assert list(map(float, one)) == pytest.approx(list(map(float, other)), rel=1e-3)


def wait_for_states(project, process):
    while not project.states():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)


def start_by_hand(project, command, variables):
    """Starts a command for each rank, as what knows no torchrun does: {variable: each rank's}."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    return [
        project.start(command, variables=common | dict(zip(variables, values, strict=True)))
        for values in zip(*variables.values(), strict=True)
    ]


def ranks_of(process):
    """The ids of a launcher's ranks."""
    command = ["ps", "-o", "pid=", "--ppid", str(process.pid)]
    return [int(word) for word in subprocess.check_output(command, text=True).split()]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def short(make_project):
    """A training of two processes that takes a second or two."""

    def make(name, *changes):
        return make_project(name, *TWO, "train.max_steps=60", *changes)

    return make


@pytest.fixture(scope="module")
def whole_of_two(tmp_path_factory, project_type):
    """The short one, which nobody disturbed."""
    project = project_type(tmp_path_factory.mktemp("two"), *TWO, "train.max_steps=60")
    printed = finish(project.start(PLAIN))
    assert printed.count("Trained") == 1
    assert printed.count("MLflow can't") <= 1
    assert not list((project.folder / ".state" / "train").iterdir())
    (log,) = (project.folder / "logs").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["processes"] == 2
    steps = [line["step"] for line in lines if line["event"] == "train"]
    assert steps == list(range(1, 61))
    return project


@pytest.fixture
def long(make_project):
    """One that lasts until it's ended."""
    return make_project("long", *TWO, "train.max_steps=100000", "train.max_epochs=10000")


@pytest.mark.slow
def test_the_stage_starts_its_processes_and_torchrun_does_the_same(short, whole_of_two):
    by_torchrun, alone = short("torchrun"), short("alone", "train.num_processes=1")
    assert "Trained" in finish(by_torchrun.start(TORCHRUN))
    assert "Trained" in finish(alone.start(PLAIN))
    assert by_torchrun.outcome() == whole_of_two.outcome()
    assert_same_curves(whole_of_two, alone)


@pytest.mark.slow
def test_a_kubernetes_job_does_the_same(short, whole_of_two):
    pods = short("pods")
    first, second = start_by_hand(pods, PLAIN, {"RANK": "01", "WORLD_SIZE": "22"})
    assert "Trained" in finish(first)
    assert finish(second) == ""
    assert pods.outcome() == whole_of_two.outcome()


@pytest.mark.slow
def test_the_line_for_slurm_does_the_same(short, whole_of_two):
    lines = (ROOT / "docs" / "training.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("srun "))
    command = [word.replace("exec python", f"exec {sys.executable}") for word in shlex.split(line)]
    tasks = short("tasks")
    variables = {"SLURM_PROCID": "01", "SLURM_NTASKS": "22", "SLURM_LOCALID": "01"}
    first, second = start_by_hand(tasks, command[1:], variables)
    assert "Trained" in finish(first)
    assert finish(second) == ""
    assert tasks.outcome() == whole_of_two.outcome()


@pytest.mark.slow
def test_term_to_the_launcher_saves_once_and_another_number_of_processes_goes_on(
    short, whole_of_two
):
    stopped = short("stopped")
    process = stopped.start(PLAIN)
    wait_for_states(stopped, process)
    process.send_signal(signal.SIGTERM)
    printed = finish(process)
    assert process.returncode == 143, printed
    (step,) = re.findall(r"Stopped after step (\d+) of 60; the same command goes on", printed)
    assert 0 < int(step) < 60
    params = (stopped.folder / "params.yaml").read_text()
    one = params.replace("num_processes: 2", "num_processes: 1")
    (stopped.folder / "params.yaml").write_text(one)
    printed = finish(stopped.start(PLAIN))
    assert stopped.going_on_from(printed) == int(step)
    assert "warning: 1 processes take over from 2" in printed
    assert_same_curves(stopped, whole_of_two)


@pytest.mark.slow
def test_ctrl_c_on_the_launcher_saves_and_ends_every_rank(long):
    process = long.start(PLAIN)
    wait_for_states(long, process)
    ranks = ranks_of(process)
    before = long.states()
    # A terminal's reaches its whole group, in which the launcher is alone.
    assert os.getpgid(process.pid) not in map(os.getpgid, ranks)
    process.send_signal(signal.SIGINT)
    printed = finish(process)
    assert process.returncode == 130, printed
    assert printed.count("Stopped after step") == 1
    assert "Traceback" not in printed
    assert long.states() != before
    assert not any(map(is_running, ranks))


@pytest.mark.slow
def test_a_killed_rank_ends_all_and_the_same_command_goes_on_to_the_same_bytes(short, whole_of_two):
    killed = short("killed")
    process = killed.start(PLAIN)
    wait_for_states(killed, process)
    ranks = ranks_of(process)
    os.kill(ranks[1], signal.SIGKILL)
    printed = finish(process)
    assert process.returncode > 0
    assert "rank 1 of 2 was ended by SIGKILL" in printed
    assert not any(map(is_running, ranks))
    assert killed.going_on_from(finish(killed.start(PLAIN))) > 0
    assert killed.outcome() == whole_of_two.outcome()


@pytest.mark.slow
def test_a_term_that_comes_too_late_costs_no_second_training(short, whole_of_two, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LATE)
    late = short("late")
    process = late.start(PLAIN, [tmp_path])
    while not (late.folder / "late").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert "Trained" in finish(process)
    assert process.returncode == 143
    assert late.going_on_from(finish(late.start(PLAIN))) > 0
    assert late.outcome() == whole_of_two.outcome()


@pytest.mark.slow
def test_a_second_ctrl_c_ends_every_rank_at_once(long, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STUCK)
    process = long.start(PLAIN, [tmp_path])
    wait_for_states(long, process)
    while not (long.folder / "stuck").exists():
        time.sleep(0.01)
    ranks = ranks_of(process)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert all(map(is_running, ranks))
    process.send_signal(signal.SIGINT)
    printed = finish(process)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert not any(map(is_running, ranks))


@pytest.fixture
def hangups():
    """What is started heeds them, even where `nohup` has these tests ignore them."""
    usual = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, usual)


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGHUP])
def test_ranks_whose_launcher_was_ended_save_and_leave(long, hangups, by):
    process = long.start(PLAIN)
    wait_for_states(long, process)
    ranks = ranks_of(process)
    process.send_signal(by)
    assert "Stopped after step" in finish(process)  # once the last of them has closed its output
    deadline = time.monotonic() + 60
    while any(map(is_running, ranks)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# All ranks sleep for long before they have met.
ASLEEP = """
import os
if "RANK" in os.environ:
    import pathlib, signal, time, transformer.training.distributed as distributed
    def asleep():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(f"asleep{os.environ['RANK']}").touch()
        time.sleep(300)
    distributed.connected = asleep
"""


@pytest.mark.slow
def test_ranks_end_within_seconds_of_a_launcher_that_is_killed(long, tmp_path):
    """Stuck, deaf to TERM, and without memory to spare."""
    (tmp_path / "sitecustomize.py").write_text(ASLEEP)
    shell = f"ulimit -v 16000000; exec {shlex.join(PLAIN)}"
    process = long.start(["bash", "-c", shell], [tmp_path])
    while not all((long.folder / f"asleep{rank}").exists() for rank in (0, 1)):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    ranks = ranks_of(process)
    assert len(ranks) == 2
    process.kill()
    process.communicate(timeout=30)  # until the last of them has closed its output
    deadline = time.monotonic() + 5
    while any(map(is_running, ranks)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_rank_that_waits_for_nothing_but_term_ends_at_once(long, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(ASLEEP.replace("signal.SIG_IGN", "signal.SIG_DFL"))
    process = long.start(PLAIN, [tmp_path])
    while not all((long.folder / f"asleep{rank}").exists() for rank in (0, 1)):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    process.kill()
    killed_at = time.monotonic()
    process.communicate(timeout=30)
    if sys.platform == "linux":
        assert time.monotonic() - killed_at < _GRACE_SECONDS - 2


def test_a_thousand_processes_are_refused_before_any_starts(make_project):
    project = make_project("thousand", "train.num_processes=2")
    params = (project.folder / "params.yaml").read_text()
    thousand = params.replace("num_processes: 2", "num_processes: 1000")
    (project.folder / "params.yaml").write_text(thousand)
    process = project.start(["bash", "-c", f"ulimit -v 16000000; exec {shlex.join(PLAIN)}"])
    printed = finish(process)
    assert process.returncode == 1
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    assert printed.strip() == (
        f"error: train.num_processes = 1000: this machine has {cores} cores, one for each process "
        "at most; lower it"
    )


@pytest.mark.parametrize(("num_processes", "is_refused"), [(2, False), (3, True)])
def test_each_process_has_a_gpu(monkeypatch, num_processes, is_refused):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    refused = pytest.raises(ValueError, match=r"num_processes = 3: this machine has 2 GPUs")
    with refused if is_refused else nullcontext():
        check_devices(num_processes, "auto")


@pytest.mark.parametrize("command", [PLAIN, pytest.param(TORCHRUN, marks=pytest.mark.slow)])
def test_a_failing_rank_tells_its_own_error_once(long, tmp_path, command):
    (tmp_path / "sitecustomize.py").write_text(SPOILT)
    process = long.start(command, [tmp_path])
    printed = finish(process)
    assert process.returncode == 1
    assert printed.count("error: rank 1: out of memory at step 21, batch of ") == 1
    assert "another process of this training ended" not in printed


@pytest.mark.slow
def test_an_error_of_all_ranks_is_told_once(short):
    endless = ("train.max_steps=null", "train.max_epochs=1", "train.schedule.warmup_steps=900")
    project = short("project", *endless)
    process = project.start(TORCHRUN)
    printed = finish(process)
    assert process.returncode != 0
    assert printed.count("train.schedule.warmup_steps = 900, but this corpus gives") == 1
