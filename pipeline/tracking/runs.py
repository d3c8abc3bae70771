"""Finding, opening and ending MLflow runs."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pipeline.tracking.backend import open_client, open_experiment
from pipeline.tracking.pending_runs import take_pending_run
from pipeline.tracking.provenance import provenance_tags
from pipeline.tracking.run_names import model_params, name_evaluation, name_run
from pipeline.tracking.tracker import LostError, Tracker
from pipeline.tracking.training_files import corpus_name, describe_training

MODEL_HASH = "model_hash"
# What a run is: a trained model, one evaluation of it, which is its child, or the parent of models
# that differ by their seed.
KIND, MODEL, EVALUATION, REPEAT = "kind", "model", "evaluation", "repeat"
PARENT = "mlflow.parentRunId"
# Of an evaluation: how it decoded and scored, and what.
_SETTINGS, _TEST_SET = "settings", "test_sha256"


def begin_run(run_id: str | None = None) -> Tracker:
    """The run of a model that is about to be trained, with its params.

    Args:
        run_id: of the run that an earlier process began, which is continued; where that is gone,
            a warning says so, and a new one begins.
    """

    def open_run() -> tuple[Any, str]:
        client, artifacts = open_client()
        if run_id is not None:
            if _exists(client, run_id):
                client.update_run(run_id, status="RUNNING")
                return client, run_id
            warnings.warn(
                f"the MLflow run {run_id} that this training began is gone; it goes on in a new "
                "one",
                stacklevel=2,
            )
        return client, _create(client, artifacts, provenance_tags())

    tracker = Tracker(open_run)
    tracker.params(model_params())
    return tracker


@contextmanager
def join_run(model_hash: str) -> Iterator[Tracker]:
    """The newest run of this model; where there is none, a new one, with what training left.

    Args:
        model_hash: of `models/checkpoint`.
    """
    is_new = False

    def open_run() -> tuple[Any, str]:
        nonlocal is_new
        client, artifacts = open_client()
        found = find_run(client, model_hash)
        if found is not None:
            if found.data.tags.get(KIND) != MODEL:  # of before there were kinds
                client.set_tag(found.info.run_id, KIND, MODEL)
            return client, found.info.run_id
        is_new = True
        run_id = take_pending_run(model_hash)  # of a training that lost its tracker on the way
        if run_id is None or not _exists(client, run_id):
            run_id = _create(client, artifacts, provenance_tags())
        client.set_tag(run_id, MODEL_HASH, model_hash)
        return client, run_id

    tracker = Tracker(open_run)
    if is_new:
        tracker.params(model_params())
        describe_training(tracker)
    yield tracker
    if is_new:
        tracker.finish()


def find_tracker(model_hash: str) -> Tracker | None:
    """A tracker of the newest run of this model; None if there is none, or MLflow has failed."""
    is_there = True

    def open_run() -> tuple[Any, str]:
        nonlocal is_there
        client, _ = open_client()
        found = find_run(client, model_hash)
        is_there = found is not None
        return client, found.info.run_id if found is not None else ""

    tracker = Tracker(open_run)
    return tracker if is_there and not tracker.has_failed else None


def find_run(client: Any, model_hash: str) -> Any:
    """The newest run that is tagged with the model's hash; None if there is none."""
    found = client.search_runs(
        [experiment.experiment_id for experiment in client.search_experiments()],
        f"tags.{MODEL_HASH} = '{model_hash}'",
        order_by=["attributes.start_time DESC"],
        max_results=1,
    )
    return found[0] if found else None


def open_evaluation(
    model: Tracker, settings: Mapping[str, Any], test_sha256: str | None
) -> Tracker:
    """The model's child run for one way to decode and score one test set.

    The same again is the same run, so the figures of a run always belong together.

    Args:
        model: the run of a model, whose params the child has too, for MLflow's columns and filters.
        settings: flat, with the names of `params.yaml`: what its scores depend on.
        test_sha256: of the test set; None, where that is not here, is any.
    """
    key = json.dumps(settings, sort_keys=True)
    parent: Any = None

    def open_run() -> tuple[Any, str]:
        nonlocal parent
        parent = model.read()
        if parent is None:
            raise LostError
        client, _ = open_client()
        experiment = parent.info.experiment_id
        query = f"tags.`{PARENT}` = '{model.run_id}' and tags.{KIND} = '{EVALUATION}'"
        for child in client.search_runs([experiment], query):
            tags = child.data.tags
            is_same_set = test_sha256 in (None, tags.get(_TEST_SET))
            if is_same_set and tags.get(_SETTINGS) == key:
                return client, child.info.run_id
        tags = {PARENT: model.run_id, KIND: EVALUATION, _SETTINGS: key} | provenance_tags()
        if test_sha256 is not None:
            tags[_TEST_SET] = test_sha256
        name = name_evaluation(settings)
        run_id = client.create_run(experiment, run_name=name, tags=tags).info.run_id
        client.set_terminated(run_id)
        return client, run_id

    child = Tracker(open_run)
    if parent is not None:
        child.params(parent.data.params | settings)
    return child


def _create(client: Any, artifacts: str | None, tags: Mapping[str, str]) -> str:
    experiment = open_experiment(client, artifacts, corpus_name())
    made = client.create_run(experiment, run_name=name_run(), tags={**tags, KIND: MODEL})
    return str(made.info.run_id)


def _exists(client: Any, run_id: str) -> bool:
    from mlflow.exceptions import MlflowException

    try:
        run = client.get_run(run_id)
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            return False
        raise
    return bool(run.info.lifecycle_stage != "deleted")
