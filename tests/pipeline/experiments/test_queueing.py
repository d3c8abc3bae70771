"""What a sweep finds in DVC's queue, and what it adds to it."""

import pytest

from pipeline.experiments import queueing
from pipeline.experiments.grid import parse_grid
from pipeline.recipes import load_recipe

POINTS = parse_grid(["train.seed=1,2,3"]).points()


@pytest.fixture
def queue(monkeypatch):
    """States by name, as DVC has them, and the calls of its command line."""
    states: dict[str, str] = {}
    calls: list[tuple[str, ...]] = []

    def run_dvc(*arguments):
        calls.append(arguments)
        if arguments == ("exp", "show", "--json"):
            states["seed=2"] = "Failed"  # its worker was killed
            return "[]"
        return ""

    monkeypatch.setattr(queueing, "run_dvc", run_dvc)
    params = load_recipe("phrasebook")
    monkeypatch.setattr(queueing, "change_params", lambda changes: params)
    monkeypatch.setattr(
        queueing,
        "list_experiments",
        lambda: {name: {"State": state} for name, state in states.items()},
    )
    return states, calls


def test_what_waits_is_not_queued_twice_and_what_failed_is_tried_again(queue):
    states, calls = queue
    states |= {"seed=1": "Queued", "seed=2": "Failed"}
    queued = queueing.queue_missing(POINTS)
    assert [point.name for point in queued.now] == ["seed=2", "seed=3"]
    assert {point.name for point in queued.waiting} == {"seed=1", "seed=2", "seed=3"}
    assert [call[:3] for call in calls] == [
        ("queue", "remove", "seed=2"),
        ("exp", "run", "--queue"),
        ("exp", "run", "--queue"),
    ]


def test_an_experiment_whose_worker_was_killed_is_queued_again(queue):
    states, calls = queue
    states |= {"seed=1": "Running", "seed=2": "Running", "seed=3": "Queued"}
    assert [point.name for point in queueing.queue_missing(POINTS).now] == ["seed=2"]
    assert calls[0] == ("exp", "show", "--json")
