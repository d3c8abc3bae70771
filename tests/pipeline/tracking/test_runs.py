"""Stages with one model share one MLflow run, found by the model's hash."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from pipeline.tracking.runs import begin_run, join_run, open_evaluation
from pipeline.tracking.tracker import DatasetInput

ROOT = Path(__file__).parents[3]


def test_stages_with_one_model_share_one_run(place, folder):
    (folder / "report.txt").write_text("fine")
    run = begin_run()
    run.log({"loss": 2.0}, step=1)
    run.inputs([DatasetInput("corpus", "training", "abc", "here")])
    run.tags({"model_hash": "h1"})
    run.finish()
    with join_run("h1") as tracker:
        tracker.metrics({"bleu": 30.0})
        tracker.files("reports", [folder / "report.txt"])
    (run,) = place.runs()
    assert run.data.params["train.learning_rate"] == "0.002"
    assert not [name for name in run.data.params if name.startswith("search.")]
    assert run.data.metrics == {"loss": 2.0, "bleu": 30.0}
    assert run.inputs.dataset_inputs[0].dataset.digest == "abc"
    assert run.info.run_name == "phrasebook, learning_rate 0.002"
    assert place.artifacts(run.info.run_id, "reports") == {"reports/report.txt"}


def test_joining_leaves_the_end_of_training_as_it_was(place):
    run = begin_run()
    run.tags({"model_hash": "h1"})
    run.finish()
    (before,) = place.runs()
    with join_run("h1") as tracker:
        tracker.metrics({"bleu": 30.0})
    (after,) = place.runs()
    assert (after.info.status, after.info.end_time) == ("FINISHED", before.info.end_time)


def test_a_model_without_a_run_gets_one_with_all_that_training_left(project):
    with join_run("unknown") as tracker:
        tracker.metrics({"bleu": 1.0})
    (run,) = project.runs()
    assert run.data.tags["model_hash"] == "unknown"
    assert run.info.status == "FINISHED"
    assert project.history(run.info.run_id, "train_loss") == [(10, 2.5), (20, 5.0), (30, 7.5)]


def test_the_newest_of_two_runs_with_one_model_is_joined(place):
    old = begin_run()
    new = begin_run()
    for run in (old, new):
        run.tags({"model_hash": "same"})
        run.finish()
    with join_run("same") as tracker:
        assert tracker.run_id == new.run_id


def test_a_resumed_training_continues_its_run(place):
    first = begin_run()
    for step in (10, 20):
        first.log({"loss": 1.0 / step}, step)
    first.finish("KILLED")
    second = begin_run(first.run_id)
    assert second.steps("loss") == {10, 20}
    assert place.runs()[0].info.status == "RUNNING"
    second.log({"loss": 0.1}, 30)
    second.finish()
    (run,) = place.runs()
    assert run.info.status == "FINISHED"
    assert [step for step, _ in place.history(run.info.run_id, "loss")] == [10, 20, 30]


def test_params_that_a_run_has_already_are_left_alone(place):
    """They differ where params that the training does not read were edited meanwhile."""
    run = begin_run()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        run.params({"corpus": {"license": "GPL"}, "more": 1})
    (found,) = place.runs()
    assert (found.data.params["corpus.license"], found.data.params["more"]) == ("MIT", "1")


@pytest.mark.parametrize("how", ["deleted", "unknown"])
def test_a_run_that_is_gone_is_replaced_with_a_warning(place, how):
    run_id = begin_run().run_id
    if how == "deleted":
        place.client().delete_run(run_id)
    else:
        run_id = "0" * 32
    with pytest.warns(UserWarning, match=rf"the MLflow run {run_id} .* is gone"):
        second = begin_run(run_id)
    assert second.run_id not in ("", run_id)


def test_evaluations_are_child_runs_one_for_each_group_of_settings(place):
    with join_run("h1") as tracker:
        for beam_size, bleu in ((4, 30.0), (8, 31.0), (4, 30.5)):
            settings = {"search.beam_size": beam_size}
            open_evaluation(tracker, settings, "test set").metrics({"bleu": bleu})
    (parent,) = place.runs()
    assert parent.data.metrics == {}
    children = place.runs(parents=False)
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {parent.info.run_id}
    found = {child.data.params["search.beam_size"]: child.data.metrics for child in children}
    assert found == {"4": {"bleu": 30.5}, "8": {"bleu": 31.0}}
    for child in children:  # for MLflow's columns and filters
        assert parent.data.params.items() <= child.data.params.items()
    with join_run("h1") as again:  # a child is no run of the model
        assert again.run_id == parent.info.run_id


@pytest.mark.parametrize(("test_set", "is_new"), [("one", False), ("another", True), (None, False)])
def test_another_test_set_is_another_evaluation(place, test_set, is_new):
    settings = {"search.beam_size": 4}
    with join_run("h1") as tracker:
        first = open_evaluation(tracker, settings, "one")
        second = open_evaluation(tracker, settings, test_set)
    assert (first.run_id != second.run_id) == is_new
    assert len(place.runs(parents=False)) == 1 + is_new


def test_an_exported_run_id_is_nobodys(place, monkeypatch):
    """A queue's workers would all inherit it."""
    first = begin_run()
    monkeypatch.setenv("MLFLOW_RUN_ID", first.run_id)
    assert begin_run().run_id != first.run_id


WORK = """
import sys
from pipeline.tracking.runs import begin_run
run = begin_run()
run.metrics({"loss": float(sys.argv[1])})
run.finish()
"""


def test_two_workers_on_a_fresh_database_both_log(place, folder, monkeypatch):
    (folder / "mlruns" / "mlflow.db").unlink()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    workers = [subprocess.Popen([sys.executable, "-c", WORK, str(index)]) for index in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert sorted(run.data.metrics["loss"] for run in place.runs()) == [0.0, 1.0]
