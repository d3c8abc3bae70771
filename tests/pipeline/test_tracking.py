"""MLflow runs are joined by the model's hash, and MLflow's troubles stop nothing."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from pipeline.tracking import (
    DatasetInput,
    flatten,
    join_run,
    main_checkout,
    prepare_database,
    start_run,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("DVC_ROOT", "MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID"):
        monkeypatch.delenv(variable, raising=False)


def client() -> MlflowClient:
    return MlflowClient(prepare_database()[0])


def runs() -> list:
    experiments = [experiment.experiment_id for experiment in client().search_experiments()]
    return client().search_runs(experiments)


def test_stages_with_one_model_share_one_run(tmp_path):
    (tmp_path / "report.txt").write_text("fine")
    with start_run("first", "corpus", {"train": {"seed": 1}}) as tracker:
        tracker.metrics({"loss": 2.0}, step=1)
        tracker.metrics({"loss": 1.0}, step=2)
        tracker.inputs([DatasetInput("corpus", "train", "abc", "here")])
        tracker.tags({"model_hash": "h1"})
    with join_run("h1", "corpus") as tracker:
        tracker.metrics({"bleu": 30.0})
        tracker.artifact(tmp_path / "report.txt", "reports")
    (run,) = runs()
    assert run.data.params == {"train.seed": "1"}
    assert run.data.metrics == {"loss": 1.0, "bleu": 30.0}
    assert run.inputs.dataset_inputs[0].dataset.digest == "abc"
    assert run.info.status == "FINISHED"
    assert (tmp_path / "mlruns" / "artifacts" / "corpus" / run.info.run_id).is_dir()


def test_a_model_without_a_run_gets_one():
    with join_run("unknown", "corpus") as tracker:
        tracker.metrics({"bleu": 1.0})
    (run,) = runs()
    assert run.data.tags["model_hash"] == "unknown"


def test_the_newest_of_two_runs_with_one_model_is_joined():
    for name in ("old", "new"):
        with start_run(name, "corpus", {}) as tracker:
            tracker.tags({"model_hash": "same"})
    with join_run("same", "corpus") as tracker:
        tracker.metrics({"bleu": 1.0})
    with_bleu = [run.info.run_name for run in runs() if "bleu" in run.data.metrics]
    assert with_bleu == ["new"]


def fail_in_a_run() -> None:
    with start_run("broken", "corpus", {}):
        raise ValueError("out of luck")


def test_a_failed_stage_leaves_a_failed_run():
    with pytest.raises(ValueError, match="out of luck"):
        fail_in_a_run()
    assert runs()[0].info.status == "FAILED"


def test_a_tracker_out_of_reach_warns_once_and_stops_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/file/mlflow.db")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with start_run("lost", "corpus", {"a": 1}) as tracker:
            tracker.metrics({"loss": 1.0})
            tracker.tags({"model_hash": "h"})
    told = [str(w.message) for w in caught if "MLflow can't be written to" in str(w.message)]
    assert len(told) == 1


WORK = """
import sys
from pipeline.tracking import start_run
with start_run("worker", "corpus", {}) as tracker:
    tracker.metrics({"loss": float(sys.argv[1])})
"""


def test_two_workers_on_a_fresh_database_both_log(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    workers = [subprocess.Popen([sys.executable, "-c", WORK, str(index)]) for index in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert sorted(run.data.metrics["loss"] for run in runs()) == [0.0, 1.0]


def test_a_queued_experiment_tracks_in_the_main_checkout(monkeypatch):
    monkeypatch.setenv("DVC_ROOT", "/home/me/project/.dvc/tmp/exps/tmpabc")
    assert main_checkout() == Path("/home/me/project")
    monkeypatch.setenv("DVC_ROOT", "/home/me/project")
    assert main_checkout() == Path("/home/me/project")


def test_params_are_flattened_with_their_names():
    assert flatten({"a": {"b": {"c": 1}, "d": [2]}, "e": None}) == {
        "a.b.c": 1,
        "a.d": [2],
        "e": None,
    }
