"""What training tells MLflow while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.tracking.pending_runs import keep_pending_run, read_run_id, write_run_id
from pipeline.tracking.provenance import device_tag
from pipeline.tracking.run_names import model_params
from pipeline.tracking.runs import MODEL_HASH, begin_run
from pipeline.tracking.system import WORKLOAD, SystemSampler
from pipeline.tracking.tracker import Tracker
from pipeline.tracking.training_files import describe_data, describe_outcome
from transformer.monitoring.throughput import Speed
from transformer.training.interruption import TrainingStopped
from transformer.training.reporting import TrainRow, ValidRow

_RUN_FILE = "mlflow_run.json"


class TrackingReporter:
    """A `Reporter` that logs the curves, with timings, to a run that begins with the first step.

    Steps that are repeated after a kill are in the run already; they are not logged twice.

    Args:
        folder: of this training alone. A run that is noted there is continued, and the run is
            noted there; None: nothing outlives the process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tracker: Tracker | None = None
        self._system: SystemSampler | None = None
        self._step = 0
        self._last_train = self._last_valid = -1

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Opens the run, and logs the size of the undertaking."""
        begun = read_run_id(self._folder / _RUN_FILE) if self._folder is not None else None
        tracker = self._tracker = begin_run(begun)
        if self._folder is not None and tracker.run_id:
            write_run_id(self._folder / _RUN_FILE, tracker.run_id)
        with tracker.guard():
            if not tracker.has_failed:
                self._system = SystemSampler()
        tracker.tags(
            {
                "num_parameters": str(num_parameters),
                "num_steps": str(num_steps),
                "device": device_tag(model_params()["train"]["device"]),
            }
        )
        describe_data(tracker)
        self._last_train = max(tracker.steps("train_loss"), default=-1)
        self._last_valid = max(tracker.steps("valid_loss"), default=-1)

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Logs the row, the speed, and now and then what the machine does."""
        self._step = row.step
        if self._tracker is not None and row.step > self._last_train:
            system = self._system.sample_if_due() if self._system is not None else {}
            speeds = {f"{WORKLOAD}{name}": value for name, value in _values(speed).items()}
            self._tracker.log(_values(row) | speeds | system, row.step)

    def on_validation(self, row: ValidRow) -> None:
        """Logs the row."""
        if self._tracker is not None and row.step > self._last_valid:
            self._tracker.log(_values(row), row.step)

    def on_end(self) -> None:
        """Sends what waits; whoever opened the run ends it."""
        if self._tracker is not None:
            if self._system is not None and self._step:  # a short run has one sample at least
                self._tracker.log(self._system.sample(), self._step)
            self._tracker.flush()

    def log_outcome(self, model_hash: str) -> None:
        """Joins the run to the model, and logs what training wrote."""
        if self._tracker is not None:
            self._tracker.tags({MODEL_HASH: model_hash})
            describe_outcome(self._tracker)
            if self._tracker.has_failed and self._tracker.run_id:
                keep_pending_run(model_hash, self._tracker.run_id)

    def finish(self, status: str) -> None:
        """Ends the run, if it has begun: FINISHED, FAILED or KILLED."""
        if self._tracker is not None:
            self._tracker.finish(status)


@contextmanager
def track_training(folder: Path | None = None) -> Iterator[TrackingReporter]:
    """A reporter for a training, whose run ends as the block does.

    A training that is refused before its first step leaves no run.

    Args:
        folder: as `TrackingReporter` takes it.
    """
    reporter = TrackingReporter(folder)
    try:
        yield reporter
    except (KeyboardInterrupt, TrainingStopped):
        reporter.finish("KILLED")
        raise
    except BaseException:
        reporter.finish("FAILED")
        raise
    reporter.finish("FINISHED")


def _values(row: Any) -> dict[str, float]:
    # Rows and speeds are named tuples; what can't be measured everywhere may be None.
    # Six digits: MLflow's pages show all that there are.
    return {
        name: float(f"{value:.6g}")
        for name, value in row._asdict().items()
        if name != "step" and isinstance(value, int | float)
    }
