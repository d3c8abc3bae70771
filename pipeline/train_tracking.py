"""What training tells MLflow. Writes no DVC output."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.params import read_params
from pipeline.paths import PARAMS, RAW
from pipeline.recipes import HEADER
from pipeline.tracking import DatasetInput, Tracker, start_run
from transformer.files import read_json, write_json
from transformer.text.manifest import Manifest, read_manifest
from transformer.training.reporting import Speed, TrainRow, ValidRow

# The sections that make a model. How it is used later may change, but a run's params can't.
_SECTIONS = ("corpus", "clean", "vocab", "tokenize", "model", "train")
# MLflow keeps run names up to this many characters.
_NAME_CHARACTERS = 250
# MLflow takes digests up to this many characters.
_DIGEST_CHARACTERS = 36
_RUN_FILE, _RUN_ID = "mlflow_run.json", "run_id"


@contextmanager
def track_training(folder: Path | None = None) -> Iterator[Tracker]:
    """A run named by the recipe, in the corpus's experiment, with its params and its data.

    Ids without a raw corpus beside them, as on a machine that only trains, are tracked as well.

    Args:
        folder: of this training alone. A run that is noted there is continued, and the run is
            noted there; None: nothing outlives the process.
    """
    manifest = read_manifest(RAW) if RAW.exists() else None
    experiment = manifest.name if manifest else "training"
    params = {name: values for name, values in read_params().items() if name in _SECTIONS}
    run_id = None
    if folder is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):  # none yet, or damaged
            run_id = read_json(folder / _RUN_FILE)[_RUN_ID]
    with start_run(_run_name(), experiment, params, run_id) as tracker:
        if folder is not None and tracker.run_id:
            write_json(folder / _RUN_FILE, {_RUN_ID: tracker.run_id})
        if manifest:
            tracker.inputs(_dataset_inputs(manifest))
        yield tracker


class TrackingReporter:
    """A `Reporter` that logs the curves, with timings, to a tracker.

    Steps that are repeated after a kill are in the run already; they are not logged twice.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._last_train = self._last_valid = -1

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Logs the size of the undertaking."""
        self._tracker.tags({"num_parameters": str(num_parameters), "num_steps": str(num_steps)})
        self._last_train = self._tracker.last_step("train_loss")
        self._last_valid = self._tracker.last_step("valid_loss")

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Logs the row and the speed."""
        if row.step > self._last_train:
            self._tracker.metrics(_values(row) | speed.figures(), step=row.step)

    def on_validation(self, row: ValidRow) -> None:
        """Logs the row."""
        if row.step > self._last_valid:
            self._tracker.metrics(_values(row), step=row.step)

    def on_end(self) -> None:
        """Nothing: whoever opened the run ends it."""


def _run_name() -> str:
    # A recipe writes its name and changes into the first line.
    first = PARAMS.read_text(encoding="utf-8").split("\n", 1)[0]
    words = first.removeprefix(HEADER) if first.startswith(HEADER) else "training"
    experiment = os.environ.get("DVC_EXP_NAME")
    name = f"{experiment}: {words}" if experiment else words
    return name.replace("--set ", "")[:_NAME_CHARACTERS]


def _dataset_inputs(manifest: Manifest) -> list[DatasetInput]:
    return [
        DatasetInput(
            manifest.name, split, manifest.sha256[split][:_DIGEST_CHARACTERS], manifest.origin
        )
        for split in ("train", "valid")
    ]


def _values(row: TrainRow | ValidRow) -> dict[str, float]:
    return {name: value for name, value in row._asdict().items() if name != "step"}
