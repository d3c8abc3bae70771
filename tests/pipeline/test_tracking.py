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
from transformer.training.stopping import TrainingStopped

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


def stop_in_a_run() -> None:
    with start_run("stopped", "corpus", {"train": {"seed": 1}}) as tracker:
        for step in (10, 20):
            tracker.metrics({"loss": 1.0 / step}, step=step)
        raise TrainingStopped(20, 30)


def test_a_resumed_training_continues_its_run():
    with pytest.raises(TrainingStopped):
        stop_in_a_run()
    (run,) = runs()
    assert run.info.status == "KILLED"
    params = {"train": {"seed": 1, "more": 2}}
    with start_run("resumed", "corpus", params, run.info.run_id) as tracker:
        assert tracker.last_step("loss") == 20
        assert tracker.last_step("accuracy") == -1
        assert client().get_run(run.info.run_id).info.status == "RUNNING"
        tracker.metrics({"loss": 0.1}, step=30)
    (run,) = runs()
    assert run.info.status == "FINISHED"
    assert run.data.params == {"train.seed": "1", "train.more": "2"}
    history = client().get_metric_history(run.info.run_id, "loss")
    assert [one.step for one in history] == [10, 20, 30]


def test_params_that_a_run_has_already_are_left_alone():
    """They differ where params that the training does not read were edited meanwhile."""
    with start_run("first", "corpus", {"corpus": {"licence": "MIT"}}) as tracker:
        run_id = tracker.run_id
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with start_run("second", "corpus", {"corpus": {"licence": "GPL"}}, run_id) as tracker:
            tracker.metrics({"loss": 1.0})
    (run,) = runs()
    assert run.data.params == {"corpus.licence": "MIT"}
    assert run.data.metrics == {"loss": 1.0}


@pytest.mark.parametrize("how", ["deleted", "unknown"])
def test_a_run_that_is_gone_is_replaced_with_a_warning(how):
    with start_run("first", "corpus", {"train": {"seed": 1}}) as tracker:
        run_id = tracker.run_id
    if how == "deleted":
        client().delete_run(run_id)
    else:
        run_id = "0" * 32
    with (
        pytest.warns(UserWarning, match=rf"the MLflow run {run_id} .* is gone"),
        start_run("second", "corpus", {"train": {"seed": 1}}, run_id) as tracker,
    ):
        tracker.metrics({"loss": 1.0})
    newest = runs()[0]
    assert newest.info.run_name == "second"
    assert newest.info.status == "FINISHED"
    assert newest.data.params == {"train.seed": "1"}


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
