"""The log of a training, a line of JSON for each row; DVC and git ignore it for its timings."""

import json
import time
from pathlib import Path
from typing import Any

import torch

from pipeline.repository import main_checkout
from transformer.monitoring.throughput import Speed
from transformer.training.reporting import TrainRow, ValidRow

# In the main checkout, since an experiment's copy under .dvc/tmp/exps is gone after it.
LOGS = Path("logs")


def new_profile_folder() -> Path:
    """Where a profile made now belongs; it isn't made yet."""
    return main_checkout() / LOGS / time.strftime("profile-%Y%m%d-%H%M%S")


class LogFile:
    """A `Reporter` that appends to `logs/train-HASH.jsonl`, where HASH names the training.

    A training that goes on appends to what was logged before; one that begins starts the file
    anew. The file can be deleted at any time.
    """

    def __init__(self, folder: Path | None, num_processes: int, peak_flops: float) -> None:
        """For the training whose states lie in `folder`; None: another process logs it already."""
        self._path = None
        if folder is not None:
            self._path = main_checkout() / LOGS / f"train-{folder.name}.jsonl"
        self._machine = {
            "torch": torch.__version__,
            "processes": num_processes,
            "threads_of_each": torch.get_num_threads(),
            "peak_flops_of_each": peak_flops,
        }

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """A line on the size of the undertaking, and the machine."""
        if step == 0 and self._path is not None:
            self._path.unlink(missing_ok=True)
        size = {"step": step, "num_steps": num_steps, "num_parameters": num_parameters}
        self._write("start", size | self._machine)

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """A line with all figures."""
        self._write("train", row._asdict() | speed.figures())

    def on_validation(self, row: ValidRow) -> None:
        """A line with all figures."""
        self._write("valid", row._asdict())

    def on_end(self) -> None:
        """A line with the time."""
        self._write("end", {})

    def _write(self, event: str, values: dict[str, Any]) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(exist_ok=True)
        line = {"event": event, "time": round(time.time(), 3)} | values
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
