"""`dvc repro` and `dvc exp run`, killed in the middle of training and started again."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest


@pytest.fixture(scope="module")
def prepared(clone):
    """The clone with ids, not trained."""
    clone.make_tiny(
        "train.max_epochs=40", "train.log_every_steps=10", "train.save_every_seconds=0.1"
    )
    clone.dvc("repro", "tokenize")
    clone.commit("tokenized")
    return clone


def states(clone) -> set[str]:
    return {path.name for path in clone.folder.glob(".state/train/*/*/step-*.json")}


def end_while_training(clone, number: int, *command: str) -> str:
    """Runs a DVC command as a terminal would, ends its processes with a signal once training has
    saved some new states, and returns what they printed.
    """
    log = clone.folder / ".state" / "log"
    log.parent.mkdir(exist_ok=True)
    before = states(clone)
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dvc", *command],
            cwd=clone.folder,
            env=clone.environment(),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A shell's background jobs, and so what CI starts there, ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        seen = set()
        while len(seen) < 3:
            assert process.poll() is None, log.read_text()
            seen |= states(clone) - before
            time.sleep(0.01)
        os.killpg(process.pid, number)
        assert process.wait() != 0
    return log.read_text()


def newest_step(clone) -> int:
    return max(int(name[5:14]) for name in states(clone))


@pytest.mark.slow
def test_repro_after_a_kill_goes_on_by_itself_to_the_same_lock(prepared):
    from mlflow.tracking import MlflowClient

    end_while_training(prepared, signal.SIGKILL, "repro", "train")
    killed_at = newest_step(prepared)
    assert not (prepared.folder / "models" / "checkpoint").exists()

    printed = end_while_training(prepared, signal.SIGINT, "repro", "train")
    assert f"Going on from step {killed_at}, saved as" in printed
    told = re.search(r"Stopped after step (\d+) of \d+; the same command goes on", printed)
    assert told, printed
    assert int(told[1]) == newest_step(prepared) > killed_at

    done = prepared.dvc("repro", "train")
    assert f"Going on from step {told[1]}, saved as" in done.stderr
    resumed = prepared.read("dvc.lock")
    assert states(prepared) == set()

    client = MlflowClient(f"sqlite:///{prepared.folder}/mlruns/mlflow.db")
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert run.info.status == "FINISHED"
    assert len(run.inputs.dataset_inputs) == 2
    rows = prepared.read("reports/train_curve.csv").splitlines()[1:]
    logged = [one.step for one in client.get_metric_history(run.info.run_id, "train_loss")]
    # What waited to be sent when the process was killed was logged at the end.
    assert sorted(logged) == [int(row.split(",")[0]) for row in rows]

    done = prepared.dvc("repro", "--force", "--single-item", "train")
    assert "Going on" not in done.stdout + done.stderr
    assert prepared.read("dvc.lock") == resumed


@pytest.mark.slow
def test_a_killed_experiment_goes_on_in_a_new_copy(prepared):
    command = ["exp", "run", "--temp", "-S", "train.seed=2", "train"]
    end_while_training(prepared, signal.SIGKILL, *command)
    killed_at = newest_step(prepared)
    done = prepared.dvc(*command)
    assert f"Going on from step {killed_at}, saved as" in done.stdout + done.stderr
    assert states(prepared) == set()
