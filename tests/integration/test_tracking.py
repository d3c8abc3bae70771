"""MLflow beside DVC, as a user has them: experiments, a queue, a lost server, a second clone."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(clone):
    """The clone after `dvc repro`, committed; its results are in a remote folder too."""
    clone.make_tiny("train.log_every_steps=2", "export.precisions=[float32]")
    clone.dvc("remote", "add", "--default", "store", str(clone.folder.parent / "store"))
    clone.dvc("repro")
    clone.commit("trained")
    return clone


def client(clone) -> MlflowClient:
    return MlflowClient(f"sqlite:///{clone.folder}/mlruns/mlflow.db")


def runs(clone, tracker: MlflowClient | None = None, kind: str = "model") -> list:
    """The runs of models, newest first."""
    tracker = tracker or client(clone)
    experiments = [e.experiment_id for e in tracker.search_experiments()]
    return list(tracker.search_runs(experiments, f"tags.kind = '{kind}'"))


def evaluations(clone, tracker: MlflowClient | None = None) -> list:
    """The runs of evaluations, newest first."""
    return runs(clone, tracker, "evaluation")


def report(clone, name: str) -> dict:
    return json.loads(clone.read(f"reports/{name}.json"))


def test_results_that_dvc_restores_are_brought_level_by_sync(trained):
    (before,) = evaluations(trained)
    params = trained.read("params.yaml")
    changed = params.replace("max_length_extra: 10", "max_length_extra: 1")
    changed = changed.replace("max_length_factor: 2.0", "max_length_factor: 0.5")
    (trained.folder / "params.yaml").write_text(changed)
    trained.dvc("repro")
    cut, other = evaluations(trained)
    assert other.data.metrics == before.data.metrics  # each has the figures of its own settings
    assert cut.data.metrics["bleu_greedy"] != before.data.metrics["bleu_greedy"]
    assert cut.data.metrics.keys() == before.data.metrics.keys()

    (trained.folder / "params.yaml").write_text(params)
    printed = trained.dvc("repro").stdout
    assert "Running stage" not in printed  # DVC's run cache has both
    synced = trained.pipeline("sync").stdout
    (run,) = runs(trained)
    assert f"run {run.info.run_id}" in synced
    found = {child.data.params["search.max_length_extra"]: child for child in evaluations(trained)}
    assert found["10"].data.metrics == before.data.metrics
    assert found["10"].data.tags["dvc_lock"][:12] in synced
    assert "dvc_lock" not in found["1"].data.tags


def test_two_workers_log_two_experiments_in_the_main_checkout(trained):
    known = {run.info.run_id for run in runs(trained)}
    num_versions = len(client(trained).search_model_versions())
    trained.run("git", "checkout", "--", ".")
    trained.dvc("checkout")
    for seed in (11, 12):
        trained.dvc("exp", "run", "--queue", "-S", f"train.seed={seed}")
    trained.dvc("queue", "start", "--jobs", "2")
    deadline = time.monotonic() + 300
    while not re.search(r"Success.*Success", status := trained.dvc("queue", "status").stdout, re.S):
        assert "Failed" not in status, status
        assert time.monotonic() < deadline, status
        time.sleep(2)
    new = [run for run in runs(trained) if run.info.run_id not in known]
    assert {run.data.params["train.seed"] for run in new} == {"11", "12"}
    assert len({run.data.tags["dvc_exp_name"] for run in new}) == 2
    for run in new:
        assert run.info.status == "FINISHED"
        assert "train_loss" in run.data.metrics
        assert run.data.tags["git_dirty"] == "false"
        (scored,) = [
            one
            for one in evaluations(trained)
            if one.data.tags["mlflow.parentRunId"] == run.info.run_id
        ]
        assert {"bleu", "float32_bleu"} <= scored.data.metrics.keys()
        assert scored.data.params["train.seed"] == run.data.params["train.seed"]
    assert len(client(trained).search_model_versions()) == num_versions + 2


def test_a_second_clone_has_everything_and_runs_nothing(trained, tmp_path):
    trained.run("git", "checkout", "--", ".")
    trained.dvc("checkout")
    trained.dvc("push")
    other = object.__new__(type(trained))
    other.folder, other.variables = tmp_path / "second", {}
    trained.run("git", "clone", "--quiet", str(trained.folder), str(other.folder))
    other.dvc("pull")
    printed = other.dvc("repro").stdout
    assert "Running stage" not in printed
    assert "up to date" in printed
    assert not (other.folder / "mlruns").exists()
    answer = other.pipeline("translate", "--json", "Bonjour.").stdout
    assert json.loads(answer)["translations"]

    other.pipeline("sync")
    (run,) = runs(other)
    (scored,) = evaluations(other)
    assert scored.data.metrics["bleu"] == round(report(trained, "evaluate")["bleu"], 2)
    rows = trained.read("reports/train_curve.csv").splitlines()[1:]
    assert len(client(other).get_metric_history(run.info.run_id, "train_loss")) == len(rows)
    (version,) = client(other).search_model_versions()
    assert version.tags["model_hash"] == run.data.tags["model_hash"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(folder: Path, url: str, *arguments: str, **variables: str):
    """An MLflow process in its own group, up when `url` answers; killed at the end."""
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *arguments],
            cwd=folder,
            env=os.environ
            | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
            | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            | variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while not answers(url):
            assert process.poll() is None, (folder / "server.log").read_text()
            assert time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.2)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


def test_a_server_that_dies_loses_no_training_and_sync_catches_up(trained, tmp_path):
    trained.run("git", "checkout", "--", ".")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = [
        "server",
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/server.db",
        "--artifacts-destination",
        str(tmp_path / "artifacts"),
        "--workers",
        "1",
        "--port",
        str(port),
    ]
    trained.variables = {"MLFLOW_TRACKING_URI": url}
    try:
        with serving(tmp_path, f"{url}/health", *server):
            changes = ["-S", "train.seed=21", "-S", "train.max_epochs=60"]
            training = subprocess.Popen(
                [sys.executable, "-m", "dvc", "exp", "run", *changes],
                cwd=trained.folder,
                env=trained.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            tracker = MlflowClient(url)
            while not any("train_loss" in run.data.metrics for run in runs(trained, tracker)):
                assert training.poll() is None, training.stdout.read()
                time.sleep(0.2)
        printed, _ = training.communicate(timeout=240)
        assert training.returncode == 0, printed
        assert "MLflow can't be written to" in printed
        assert "`python -m pipeline sync`" in printed

        failed = trained.pipeline("sync", check=False)
        assert failed.returncode == 1
        assert "does not answer" in failed.stderr
        with serving(tmp_path, f"{url}/health", *server):
            trained.pipeline("sync")
            tracker = MlflowClient(url)
            (run,) = runs(trained, tracker)
            assert run.info.status == "FINISHED"
            (scored,) = evaluations(trained, tracker)
            assert scored.data.metrics["bleu"] == round(report(trained, "evaluate")["bleu"], 2)
            rows = trained.read("reports/train_curve.csv").splitlines()[1:]
            history = tracker.get_metric_history(run.info.run_id, "train_loss")
            assert sorted(m.step for m in history) == [int(row.split(",")[0]) for row in rows]
            assert len(tracker.search_model_versions()) == 1
    finally:
        trained.variables = {}
        trained.run("git", "checkout", "--", ".")
        trained.dvc("checkout")


def test_the_champion_is_served_over_http(trained, tmp_path):
    printed = trained.pipeline("promote", "--force").stdout
    assert "is the champion now" in printed
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["--env-manager", "local", "--port", str(port)]
    uri = f"sqlite:///{trained.folder}/mlruns/mlflow.db"
    with serving(
        tmp_path,
        f"{url}/ping",
        *("models", "serve", "-m", "models:/translator@champion"),
        *arguments,
        MLFLOW_TRACKING_URI=uri,
    ):
        sentences = ["Il vit au Japon.", "Bonjour."]
        request = urllib.request.Request(
            f"{url}/invocations",
            json.dumps({"inputs": sentences}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            predictions = json.load(answer)["predictions"]
        maps = subprocess.run(
            ["pgrep", "-f", f"port.{port}"], capture_output=True, text=True, check=False
        ).stdout.split()
        loaded = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in maps)
    ours = trained.pipeline("translate", "--json", *sentences).stdout.splitlines()
    expected = [json.loads(line)["translations"][0]["text"] for line in ours]
    assert [one["translation"] for one in predictions] == expected
    assert "onnxruntime" in loaded
    assert "libtorch" not in loaded


def test_a_copy_without_mlflow_and_dvc_trains(trained, tmp_path):
    """A GPU machine needs the ids, the params and torch."""
    for name in ("params.yaml", "data/ids"):
        source, target = trained.folder / name, tmp_path / name
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    code = "import sys\nfor name in ('mlflow', 'dvc', 'pandas', 'requests'):\n"
    code += "    sys.modules[name] = None\n"
    code += "sys.argv = ['pipeline', 'train']\nfrom pipeline.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=trained.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "is not installed, so MLflow hears nothing of this" in done.stderr
    theirs = (tmp_path / "models/checkpoint/model.safetensors").read_bytes()
    assert theirs == (trained.folder / "models/checkpoint/model.safetensors").read_bytes()
