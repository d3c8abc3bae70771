"""Writing to one MLflow run: each call may be repeated, and none raises for MLflow's troubles."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.flattening import flatten
from pipeline.tracking.digests import content_hash
from transformer.urls import hide_secrets

# The tag that holds the hash of what was put into each folder of the artefacts.
_FILES = "logged_files"
# MLflow takes so many in one call.
_MAX_PARAMS, _MAX_METRICS, _MAX_TAGS = 100, 1000, 100
# A log that is lost with the process costs so much of a curve; the curve's file has it still.
_SECONDS_BETWEEN_WRITES = 5.0


class DatasetInput(NamedTuple):
    """Data that a run has read, for MLflow's list of datasets."""

    name: str
    context: str  # what it was read for
    digest: str  # as DVC has it
    origin: str


class LostError(Exception):
    """MLflow was lost before, which was told then."""


class Tracker:
    """Writes to one MLflow run, or to nothing once MLflow has failed.

    Args:
        open_run: gives MLflow's client and the run's id.
    """

    def __init__(self, open_run: Callable[[], tuple[Any, str]]) -> None:
        self._client: Any = None
        self._run_id = ""
        self._has_failed = False
        self._waiting: list[Any] = []
        self._last_write = time.monotonic()
        with self.guard():
            self._client, self._run_id = open_run()

    @property
    def run_id(self) -> str:
        """MLflow's name for the run; empty if there is none."""
        return self._run_id

    @property
    def has_failed(self) -> bool:
        """Whether anything is missing from MLflow."""
        return self._has_failed

    def read(self) -> Any:
        """The run as MLflow has it; None if MLflow has failed."""
        with self.guard() as client:
            return client.get_run(self._run_id)
        return None

    def params(self, values: Mapping[str, Any]) -> None:
        """Params, flattened with the names of `params.yaml`. Those that the run has stay."""
        run = self.read()
        known = run.data.params if run is not None else {}
        flat = [(key, str(v)) for key, v in flatten(values).items() if key not in known]
        for some in _batches(flat, _MAX_PARAMS):
            with self.guard() as client:
                from mlflow.entities import Param

                client.log_batch(self._run_id, params=[Param(*one) for one in some])

    def metrics(self, values: Mapping[str, float]) -> None:
        """Final figures, which have no step; those that the run has already are left alone."""
        run = self.read()
        known = run.data.metrics if run is not None else {}
        self._write({key: value for key, value in values.items() if known.get(key) != value}, 0)
        self.flush()

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Figures of one step. They are sent with others a few seconds later, or by `flush`."""
        self._write(values, step)
        if time.monotonic() - self._last_write >= _SECONDS_BETWEEN_WRITES:
            self.flush()

    def flush(self) -> None:
        """Sends what `log` keeps."""
        for some in _batches(self._waiting, _MAX_METRICS):
            with self.guard() as client:
                client.log_batch(self._run_id, metrics=some)
        self._waiting = []
        self._last_write = time.monotonic()

    def steps(self, metric: str) -> set[int]:
        """The steps at which the run has this metric."""
        with self.guard() as client:
            return {one.step for one in client.get_metric_history(self._run_id, metric) or ()}
        return set()

    def tags(self, values: Mapping[str, str]) -> None:
        """Words about the run; a later value replaces an earlier one."""
        for some in _batches(list(values.items()), _MAX_TAGS):
            with self.guard() as client:
                from mlflow.entities import RunTag

                client.log_batch(self._run_id, tags=[RunTag(*one) for one in some])

    def rename(self, name: str) -> None:
        """Gives the run another name."""
        run = self.read()
        if run is not None and run.info.run_name != name:
            with self.guard() as client:
                client.update_run(self._run_id, name=name)

    def inputs(self, datasets: Iterable[DatasetInput]) -> None:
        """The data that was read; MLflow lists the same data once."""
        with self.guard() as client:
            from mlflow.entities import Dataset, InputTag
            from mlflow.entities import DatasetInput as MlflowInput

            entities = [
                MlflowInput(
                    Dataset(data.name, data.digest, "local", data.origin),
                    [InputTag("mlflow.data.context", data.context)],
                )
                for data in datasets
            ]
            client.log_inputs(self._run_id, datasets=entities)

    def files(self, folder: str, paths: Iterable[Path]) -> bool:
        """Puts the files and folders that exist into `folder` of the artefacts.

        Returns:
            Whether anything was sent: False where the run has just these contents already.
        """
        present = [path for path in paths if path.exists()]
        run = self.read()
        known = json.loads(run.data.tags.get(_FILES, "{}")) if run is not None else {}
        digest = content_hash(present)
        if not present or known.get(folder) == digest:
            return False
        for path in present:
            with self.guard() as client:
                if path.is_dir():
                    client.log_artifacts(self._run_id, str(path), f"{folder}/{path.name}")
                else:
                    client.log_artifact(self._run_id, str(path), folder)
        self.tags({_FILES: json.dumps(known | {folder: digest})})
        return True

    def finish(self, status: str = "FINISHED") -> None:
        """Ends the run: FINISHED, FAILED or KILLED."""
        self.flush()
        with self.guard() as client:
            client.set_terminated(self._run_id, status)

    @contextmanager
    def guard(self) -> Iterator[Any]:
        """Yields the client; once MLflow has failed, one that takes all and does nothing."""
        try:
            yield self._client
        except Exception as error:  # MLflow, its database and the network raise anything
            if not self._has_failed and not isinstance(error, LostError):
                _tell(error)
            self._has_failed = True
            self._client = _NOWHERE

    def _write(self, values: Mapping[str, float], step: int) -> None:
        with self.guard():
            if self._has_failed:
                return
            from mlflow.entities import Metric

            now = int(time.time() * 1000)
            self._waiting += [Metric(key, float(v), now, step) for key, v in values.items()]


class _Nowhere:
    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


_NOWHERE = _Nowhere()


def _tell(error: Exception) -> None:
    if isinstance(error, ModuleNotFoundError):
        # As on a machine that only trains: nothing is wrong there, so this is no warning.
        from tqdm import tqdm

        package = str(error.name).split(".")[0]
        line = f"{package} is not installed, so MLflow hears nothing of this; the stage goes on"
        tqdm.write(line, file=sys.stderr)  # above a bar, not within it
        return
    warnings.warn(
        f"MLflow can't be written to ({type(error).__name__}: {hide_secrets(str(error))}); the "
        "stage goes on, and "
        "`python -m pipeline sync` adds later what is missing from MLflow",
        stacklevel=5,
    )


def _batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
