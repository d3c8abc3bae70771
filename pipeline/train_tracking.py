"""What training tells MLflow. Writes no DVC output."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.params import read_params
from pipeline.paths import PARAMS, RAW
from pipeline.recipes import HEADER
from pipeline.tracking import DatasetInput, Tracker, start_run
from transformer.text.manifest import Manifest, read_manifest
from transformer.training.reporting import Speed, TrainRow, ValidRow

# The sections that make a model. How it is used later may change, but a run's params can't.
_SECTIONS = ("corpus", "clean", "vocab", "tokenize", "model", "train")
# MLflow keeps run names up to this many characters.
_NAME_CHARACTERS = 250
# MLflow takes digests up to this many characters.
_DIGEST_CHARACTERS = 36


@contextmanager
def track_training() -> Iterator[Tracker]:
    """A run named by the recipe, in the corpus's experiment, with its params and its data.

    Ids without a raw corpus beside them, as on a machine that only trains, are tracked as well.
    """
    manifest = read_manifest(RAW) if RAW.exists() else None
    params = {name: values for name, values in read_params().items() if name in _SECTIONS}
    with start_run(_run_name(), manifest.name if manifest else "training", params) as tracker:
        if manifest:
            tracker.inputs(_dataset_inputs(manifest))
        yield tracker


class TrackingReporter:
    """A `Reporter` that logs the curves, with timings, to a tracker."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def on_start(self, num_steps: int, num_parameters: int) -> None:
        """Logs the size of the undertaking."""
        self._tracker.tags({"num_parameters": str(num_parameters), "num_steps": str(num_steps)})

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Logs the row and the speed."""
        self._tracker.metrics(_values(row) | speed._asdict(), step=row.step)

    def on_validation(self, row: ValidRow) -> None:
        """Logs the row."""
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
