"""One MLflow run per trained model, found by the model's hash.

Tracking never stops a stage: what MLflow refuses is told once as a warning and the stage goes on.
It writes no DVC output, so a change here reruns nothing.
"""

import os
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from transformer.files import atomic_write
from transformer.training.stopping import TrainingStopped

MODEL_HASH = "model_hash"


class DatasetInput(NamedTuple):
    """A file that a run was trained on, for MLflow's dataset list."""

    name: str
    split: str
    digest: str
    origin: str


class Tracker:
    """Writes to one MLflow run, or to nothing once MLflow has failed."""

    def __init__(self, open_run: Callable[[], tuple[Any, str]]) -> None:
        self._client: Any = None
        self._run_id = ""
        self._has_failed = False
        with self._guard():
            self._client, self._run_id = open_run()

    @property
    def run_id(self) -> str:
        """MLflow's name for the run; empty if there is none."""
        return self._run_id

    def last_step(self, metric: str) -> int:
        """The highest step at which the run has this metric; -1 if there is none."""
        steps = []
        with self._guard() as client:
            steps = [one.step for one in client.get_metric_history(self._run_id, metric) or ()]
        return max(steps, default=-1)

    def params(self, values: Mapping[str, Any]) -> None:
        """Params, flattened with the names of `params.yaml`; they can't change later."""
        flat = list(flatten(values).items())
        for start in range(0, len(flat), 100):
            with self._guard() as client:
                from mlflow.entities import Param

                some = [Param(key, str(value)) for key, value in flat[start : start + 100]]
                client.log_batch(self._run_id, params=some)

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Numbers at one step."""
        with self._guard() as client:
            from mlflow.entities import Metric

            now = int(time.time() * 1000)
            metrics = [Metric(name, float(value), now, step) for name, value in values.items()]
            client.log_batch(self._run_id, metrics=metrics)

    def tags(self, values: Mapping[str, str]) -> None:
        """Words about the run; a later value replaces an earlier one."""
        with self._guard() as client:
            for key, value in values.items():
                client.set_tag(self._run_id, key, value)

    def inputs(self, datasets: list[DatasetInput]) -> None:
        """The data that the model was trained on."""
        with self._guard() as client:
            from mlflow.entities import Dataset, InputTag
            from mlflow.entities import DatasetInput as MlflowInput

            entities = [
                MlflowInput(
                    Dataset(data.name, data.digest, "local", data.origin),
                    [InputTag("mlflow.data.context", data.split)],
                )
                for data in datasets
            ]
            client.log_inputs(self._run_id, datasets=entities)

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """A file, or all files of a folder, under `folder` of the run's artefacts."""
        with self._guard() as client:
            log = client.log_artifacts if path.is_dir() else client.log_artifact
            log(self._run_id, str(path), folder)

    def finish(self, status: str = "FINISHED") -> None:
        """Ends the run: FINISHED, FAILED or KILLED."""
        with self._guard() as client:
            client.set_terminated(self._run_id, status)

    @contextmanager
    def _guard(self) -> Iterator[Any]:
        # Yields the client; once MLflow has failed, one that takes everything and does nothing.
        try:
            yield self._client
        except Exception as error:  # MLflow, its database and the network raise anything
            if not self._has_failed:
                warnings.warn(
                    f"MLflow can't be written to ({type(error).__name__}: {error}); "
                    "the stage goes on, and what it would have logged is missing from MLflow",
                    stacklevel=4,
                )
            self._has_failed = True
            self._client = _NOWHERE


class _Nowhere:
    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


_NOWHERE = _Nowhere()


@contextmanager
def start_run(
    name: str, experiment: str, params: Mapping[str, Any], run_id: str | None = None
) -> Iterator[Tracker]:
    """The run of a model in training; marked FAILED if the block raises, KILLED if it was stopped.

    It is the run `run_id`, which an earlier process began; a new one if there is no such id. Where
    the run is gone, a warning says so.
    """
    known: Mapping[str, str] = {}

    def open_run() -> tuple[Any, str]:
        nonlocal known
        client, experiment_id = _connect(experiment)
        if run_id is not None:
            run = _find_run(client, run_id)
            if run is not None:
                client.update_run(run_id, status="RUNNING")
                known = run.data.params
                return client, run_id
            warnings.warn(
                f"the MLflow run {run_id} that this training began is gone; it goes on in a new "
                "one, which lacks what was logged before",
                stacklevel=2,
            )
        run = client.create_run(experiment_id, run_name=name, tags=_origin_tags())
        return client, run.info.run_id

    tracker = Tracker(open_run)
    tracker.params({key: value for key, value in flatten(params).items() if key not in known})
    with _finishing(tracker):
        yield tracker


@contextmanager
def join_run(model_hash: str, experiment: str) -> Iterator[Tracker]:
    """The newest run tagged with this model's hash; a new one, so tagged, if there is none."""

    def open_run() -> tuple[Any, str]:
        client, experiment_id = _connect(experiment)
        found = client.search_runs(
            [experiment.experiment_id for experiment in client.search_experiments()],
            f"tags.{MODEL_HASH} = '{model_hash}'",
            order_by=["attributes.start_time DESC"],
            max_results=1,
        )
        if found:
            return client, found[0].info.run_id
        tags = _origin_tags() | {MODEL_HASH: model_hash}
        run = client.create_run(experiment_id, run_name=f"model {model_hash[:8]}", tags=tags)
        return client, run.info.run_id

    tracker = Tracker(open_run)
    with _finishing(tracker):
        yield tracker


def prepare_database() -> tuple[str, str | None]:
    """The tracking URI and, for the project's own database, its artefact folder as a URI.

    `MLFLOW_TRACKING_URI` names another place. The own database is made at first use, under a
    lock: two queue workers on a fresh clone would otherwise migrate it at once, and one would die.
    """
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri, None
    from filelock import FileLock

    folder = main_checkout() / "mlruns"
    folder.mkdir(exist_ok=True)
    database = folder / "mlflow.db"
    with FileLock(folder / "mlflow.lock"):
        if not database.exists():
            _create_database(database)
    uri = f"sqlite:///{database}"
    return uri, (folder / "artifacts").as_uri()


def _create_database(path: Path) -> None:
    # Under another name first: a creation that is killed leaves no half-migrated database.
    import logging

    from mlflow.tracking import MlflowClient

    for chatty in ("alembic", "mlflow.store.db.utils"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    with atomic_write(path) as temporary:
        MlflowClient(f"sqlite:///{temporary}").search_experiments()


def main_checkout() -> Path:
    """The repository's own folder, also for a stage that runs in a copy under `.dvc/tmp/exps`."""
    here = Path(os.environ.get("DVC_ROOT", Path.cwd())).resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{'train': {'seed': 1}} -> {'train.seed': 1}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


@contextmanager
def _finishing(tracker: Tracker) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, TrainingStopped):
        tracker.finish("KILLED")
        raise
    except BaseException:
        tracker.finish("FAILED")
        raise
    tracker.finish()


def _find_run(client: Any, run_id: str) -> Any:
    from mlflow.exceptions import MlflowException

    try:
        run = client.get_run(run_id)
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            return None
        raise
    return None if run.info.lifecycle_stage == "deleted" else run


def _connect(experiment: str) -> tuple[Any, str]:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from filelock import FileLock
    from mlflow.tracking import MlflowClient

    uri, artifacts = prepare_database()
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    if found is None:
        folder = main_checkout() / "mlruns"
        folder.mkdir(exist_ok=True)
        with FileLock(folder / "mlflow.lock"):
            found = client.get_experiment_by_name(experiment)
            if found is None:
                location = None if artifacts is None else f"{artifacts}/{experiment}"
                return client, client.create_experiment(experiment, artifact_location=location)
    return client, found.experiment_id


def _origin_tags() -> dict[str, str]:
    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    tags = {}
    if commit := git("rev-parse", "HEAD"):
        tags["git_commit"] = commit
        tags["mlflow.source.git.commit"] = commit
        changed = git("status", "--porcelain", "--", ".", ":!dvc.lock", ":!reports")
        tags["git_dirty"] = str(bool(changed)).lower()
    for variable in ("DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        if value := os.environ.get(variable):
            tags[variable.lower()] = value
    return tags
