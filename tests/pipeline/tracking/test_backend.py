"""Where the runs lie."""

from pathlib import Path

import pytest

from pipeline.repository import main_checkout
from pipeline.tracking.backend import open_client, open_experiment, prepare_database


def test_a_queued_experiment_tracks_in_the_main_checkout(monkeypatch):
    monkeypatch.setenv("DVC_ROOT", "/home/me/project/.dvc/tmp/exps/tmpabc")
    assert main_checkout() == Path("/home/me/project")
    monkeypatch.setenv("DVC_ROOT", "/home/me/project")
    assert main_checkout() == Path("/home/me/project")


def test_the_own_place_is_absolute(place, folder):
    uri, artifacts = prepare_database()
    assert uri == f"sqlite:///{folder}/mlruns/mlflow.db"
    assert artifacts == (folder / "mlruns" / "artifacts").as_uri()
    client, _ = open_client()
    found = client.get_experiment(open_experiment(client, artifacts, "toy"))
    assert found.artifact_location == f"{artifacts}/toy"


def test_a_variable_names_another_place(folder, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://example.org")
    assert prepare_database() == ("https://example.org", None)
    assert not (folder / "mlruns").exists()


@pytest.mark.parametrize("times", [1, 2])
def test_an_experiment_is_made_once(place, times):
    client, artifacts = open_client()
    ids = {open_experiment(client, artifacts, "toy") for _ in range(times)}
    assert len(ids) == 1


def test_an_experiment_that_another_clone_has_just_made_is_taken(place, monkeypatch):
    client, artifacts = open_client()
    made = open_experiment(client, artifacts, "toy")
    look_up = client.get_experiment_by_name
    answers = iter([None])  # as before the other one made it
    monkeypatch.setattr(client, "get_experiment_by_name", lambda name: next(answers, look_up(name)))
    assert open_experiment(client, artifacts, "toy") == made
