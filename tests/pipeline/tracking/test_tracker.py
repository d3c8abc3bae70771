"""What is logged twice is there once, and MLflow's troubles stop nothing."""

import json
import sys
import warnings
from pathlib import Path

import pytest

from pipeline.tracking.runs import begin_run
from pipeline.tracking.tables import log_table
from pipeline.tracking.tracker import DatasetInput, Tracker


@pytest.fixture
def run(place) -> Tracker:
    return begin_run()


def test_final_figures_are_logged_once_and_again_when_they_change(place, run):
    for value in (1.0, 1.0, 2.0, 2.0, 1.0):
        run.metrics({"bleu": value, "same": 5.0})
    assert place.history(run.run_id, "bleu") == [(0, 1.0), (0, 2.0), (0, 1.0)]
    assert place.history(run.run_id, "same") == [(0, 5.0)]
    assert place.runs()[0].data.metrics["bleu"] == 1.0


def test_what_is_logged_by_step_is_sent_together(place, run):
    run.flush()
    for step in range(3):
        run.log({"loss": float(step)}, step)
    assert place.history(run.run_id, "loss") == []
    run.flush()
    assert place.history(run.run_id, "loss") == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_more_figures_than_mlflow_takes_at_once(place, run):
    for step in range(1500):
        run.log({"loss": 1.0}, step)
    run.flush()
    assert len(place.history(run.run_id, "loss")) == 1500


def test_files_are_sent_again_only_when_they_change(place, run, folder):
    path = folder / "report.txt"
    path.write_text("one")
    assert run.files("reports", [path, folder / "missing"])
    assert not run.files("reports", [path])
    path.write_text("two")
    assert run.files("reports", [path])
    found = place.client().download_artifacts(run.run_id, "reports/report.txt", str(folder))
    assert Path(found).read_text() == "two"
    assert place.artifacts(run.run_id) == {"reports"}


def test_a_table_can_be_read_by_mlflow(place, run, monkeypatch):
    rows = [{"source": "où", "score": 1.5}, {"source": "là", "score": None}]
    for _ in range(2):
        log_table(run, "data", "rejects", rows)
    (found,) = place.runs()
    (entry,) = json.loads(found.data.tags["mlflow.loggedArtifacts"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", place.uri)  # `load_table` forgets its client's
    table = place.client().load_table(found.info.experiment_id, entry["path"])
    assert list(table["source"]) == ["où", "là"]


def test_the_same_data_are_listed_once(place, run):
    for _ in range(2):
        run.inputs([DatasetInput("corpus", "training", "abc", "here")])
    (found,) = place.runs()
    assert len(found.inputs.dataset_inputs) == 1


def use_everything(run: Tracker, folder: Path) -> None:
    (folder / "report.txt").write_text("fine")
    run.params({"a": 1})
    run.metrics({"bleu": 1.0})
    run.log({"loss": 1.0}, 1)
    run.flush()
    assert run.steps("loss") == set()
    run.tags({"model_hash": "h"})
    run.inputs([DatasetInput("corpus", "training", "abc", "here")])
    run.files("reports", [folder / "report.txt"])
    log_table(run, "reports", "table", [{"a": 1}])
    run.finish()


def told(caught: list) -> str:
    (message,) = [str(one.message) for one in caught if one.category is UserWarning]
    return message


def test_a_database_out_of_reach_warns_once_and_stops_nothing(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/file/mlflow.db")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use_everything(begin_run(), folder)
    assert "MLflow can't be written to" in told(caught)
    assert "`python -m pipeline sync`" in told(caught)


def test_a_server_out_of_reach_is_told_with_its_address(folder, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = begin_run()
        use_everything(run, folder)
    assert "'http://127.0.0.1:1' does not answer" in told(caught)
    assert run.has_failed


def test_a_place_that_goes_away_half_way_warns_once(place, run, folder):
    run.log({"loss": 1.0}, 1)
    (folder / "mlruns" / "mlflow.db").write_bytes(b"")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use_everything(run, folder)
    assert "MLflow can't be written to" in told(caught)


@pytest.mark.parametrize("missing", ["mlflow", "filelock"])
def test_where_it_is_not_installed_one_line_says_so(folder, monkeypatch, missing, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    use_everything(begin_run(), folder)
    said = "is not installed, so MLflow hears nothing of this; the stage goes on"
    assert capsys.readouterr().err.strip() == f"{missing} {said}"
