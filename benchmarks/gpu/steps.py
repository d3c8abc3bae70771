"""A few steps of training, with what they lead to.

python -m benchmarks.gpu.steps WORK: one process, which may be killed after a step.
"""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save_file

from benchmarks.training.subject import load_configs
from benchmarks.training.work import NEVER
from transformer.files import read_json, write_json
from transformer.model.config import ModelConfig
from transformer.model.weights import model_weights
from transformer.text.ids import load_ids
from transformer.training.config import TrainConfig
from transformer.training.device import tune_process
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.observer import Observer
from transformer.training.reporting import TrainRow
from transformer.training.state_store import StateStore
from transformer.training.trainer import Trainer
from transformer.training.variants import Variants


class Steps(NamedTuple):
    """What `take_steps` is told."""

    project: str
    num_steps: int
    changes: dict[str, Any]  # to the section `train`
    variants: Sequence[Any] = Variants()
    states: str | None = None  # a folder to go on from, and to save to
    stop_at: int | None = None  # save after so many steps, and end
    is_killed: bool = False  # end by KILL, with the state on disk
    weights: str | None = None  # a file for the weights


def reference_steps(project: Path, num_steps: int, **changes: Any) -> Steps:
    """The steps whose losses are compared: without dropout, on batches of the project's size."""
    return Steps(str(project), num_steps, {"deterministic": False} | changes)


def largest_difference(found: Sequence[float], wanted: Sequence[float]) -> float:
    """Of losses step by step, relative."""
    return max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True))


class _Losses(Observer):
    def __init__(self) -> None:
        self.losses: list[float] = []
        self.seconds = 0.0

    def on_log(self, row: TrainRow) -> None:
        """Keeps the loss, and the seconds of all steps but the first."""
        self.losses.append(row.train_loss)
        now = time.monotonic()
        if len(self.losses) == 1:
            self._begun = now
        self.seconds = now - self._begun


def _without_dropout(
    project: Path, num_steps: int, changes: dict[str, Any]
) -> tuple[ModelConfig, TrainConfig]:
    # The learning rate is constant after a short warm-up, no state is saved, each step is logged.
    model, train = load_configs(project)
    no_dropout = {"dropout": 0.0, "embedding_dropout": None, "attention_dropout": 0.0}
    values = train.model_dump() | {
        "initialize_from": None,
        "num_processes": 1,
        "learning_rate": 1e-3,
        "schedule": {"kind": "constant", "warmup_steps": min(4, num_steps - 1)},
        "max_epochs": NEVER,
        "max_steps": num_steps,
        "validate_every_steps": None,
        "early_stopping_patience": None,
        "average_checkpoints": 1,
        "ema_decay": None,
        "accuracy_steps": None,
        "log_every_steps": 1,
        "save_every_seconds": float(NEVER),
    }
    return model.model_copy(update=no_dropout), TrainConfig.model_validate(values | changes)


def take_steps(steps: Steps) -> dict[str, Any]:
    """Trains; returns "losses" by step, the weights' "sha256", "seconds_a_step".

    Where it is to stop, there are neither weights nor hash.
    """
    model_config, config = _without_dropout(Path(steps.project), steps.num_steps, steps.changes)
    ids = load_ids(Path(steps.project) / "data/ids")
    record = _Losses()
    resume = Resume()
    if steps.states is not None:
        store = StateStore(Path(steps.states))
        resume = Resume(
            load=lambda: store.load().saved,
            save=store.save,
            is_stop_requested=lambda: len(record.losses) == steps.stop_at,
        )
    result: dict[str, Any] = {}
    try:
        variants = Variants(*steps.variants)
        trained = Trainer(config, model_config, ids, record, resume=resume, variants=variants).run()
    except TrainingStopped:
        if steps.is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        weights = {name: value.contiguous() for name, value in model_weights(trained.model).items()}
        digest = hashlib.sha256()
        for _, value in sorted(weights.items()):
            digest.update(value.numpy().tobytes())
        if steps.weights is not None:
            save_file(weights, steps.weights)
        result["sha256"] = digest.hexdigest()
    return result | {
        "losses": record.losses,
        "seconds_a_step": record.seconds / max(len(record.losses) - 1, 1),
    }


def main(work: Path) -> None:
    """Reads a `Steps` from JSON; writes the result beside it."""
    steps = Steps(**read_json(work))
    tune_process(steps.changes.get("num_threads"), 1, steps.changes["deterministic"])
    write_json(work.with_suffix(".result.json"), take_steps(steps))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
