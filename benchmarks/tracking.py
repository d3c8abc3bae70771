"""What tracking costs: `python -m benchmarks.tracking`.

Tracking has no thread of its own, so the time within its calls is all that it takes from training.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.harness.environment import ROOT, run_command
from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run
from benchmarks.harness.report import markdown_table


class Stopwatch:
    """Adds up the seconds within an object's methods, and passes their calls on."""

    def __init__(self, timed: Any) -> None:
        self._timed = timed
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._timed, name)

        def call(*arguments: Any) -> Any:
            with self.measure(name):
                return method(*arguments)

        return call

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Counts a block as a call of `name`."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        self.counts[name] = self.counts.get(name, 0) + 1


def describe(stopwatch: Stopwatch, training_seconds: float) -> str:
    """A table: the calls of tracking, and their share of the whole training."""
    rows = [(name, stopwatch.counts[name], s) for name, s in stopwatch.seconds.items()]
    rows.append(("all", sum(stopwatch.counts.values()), sum(stopwatch.seconds.values())))
    return markdown_table(
        ["call", "times", "seconds", "of the training"],
        [
            [name, str(count), f"{seconds:.3f}", f"{seconds / training_seconds:.2%}"]
            for name, count, seconds in rows
        ],
        num_text_columns=1,
    )


def measure(project: Path, max_steps: int | None) -> str:
    """Trains a project's model once more, tracked in a place of its own, and tells the costs."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("params.yaml", "data", "reports"):
            (folder / name).symlink_to((project / name).resolve())
        os.environ["DVC_ROOT"] = str(folder)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        with chdir(folder):
            return f"{_make_place()}\n{_train(max_steps)}"


def _make_place() -> str:
    # In a process of its own: importing MLflow is part of what each training pays.
    start = time.perf_counter()
    code = "from pipeline.tracking.backend import open_client; open_client()"
    run_command([sys.executable, "-c", code], cwd=Path())
    seconds = time.perf_counter() - start
    return f"making the database, once for a clone: {seconds:.1f} seconds with Python's start"


def _train(max_steps: int | None) -> str:
    from pipeline.params import load_sections
    from pipeline.paths import IDS
    from pipeline.tracking.training import TrackingReporter
    from transformer.model.config import ModelConfig
    from transformer.monitoring.throughput import Meter
    from transformer.text.ids import load_ids
    from transformer.training.config import TrainConfig
    from transformer.training.device import choose_device, tune_process
    from transformer.training.distributed import SINGLE_PROCESS
    from transformer.training.trainer import Trainer

    model_config, config = load_sections(("model", ModelConfig), ("train", TrainConfig))
    tune_process(config.num_threads)
    if max_steps is not None:
        config = config.model_copy(update={"max_steps": max_steps})
    stopwatch = Stopwatch(TrackingReporter(None))
    start = time.perf_counter()
    ids, device = load_ids(IDS), choose_device(config.device)
    meter = Meter(model_config, ids, device, SINGLE_PROCESS, reporters=(stopwatch,))
    result = Trainer(config, model_config, ids, meter).run()
    stopwatch.log_outcome("0" * 64)
    stopwatch.finish("FINISHED")
    seconds = time.perf_counter() - start
    head = f"{result.summary['steps']} steps in {seconds:.1f} seconds, all of tracking included"
    return f"{head}\n\n{describe(stopwatch, seconds)}"


def main(
    project: Annotated[Path, typer.Option(help="With params, data/ids and reports.")] = ROOT,
    max_steps: Annotated[
        int | None, typer.Option(help="Stop there.", show_default="as the params say")
    ] = None,
) -> None:
    """Measure what MLflow takes from a training, in seconds within its calls."""
    typer.echo(f"{describe_run()}\n")
    typer.echo(measure(project, max_steps))


if __name__ == "__main__":
    run(main)
