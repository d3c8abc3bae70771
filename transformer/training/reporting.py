"""What training tells while it runs."""

import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tqdm import tqdm

from transformer.files import atomic_write

# Between two lines of progress where nobody watches a terminal.
_SECONDS_BETWEEN_LINES = 30.0
# The weight of the present speed in that which the time left is told by.
_SMOOTHING = 0.7


class TrainRow(NamedTuple):
    """The training curve at one step: means since the row before, the rate as it is."""

    step: int
    train_loss: float  # smoothed, in nats a target token
    learning_rate: float
    gradient_norm: float  # before clipping


class ValidRow(NamedTuple):
    """One validation."""

    step: int
    valid_loss: float  # negative log-likelihood without smoothing, in nats a target token
    perplexity: float  # its exponential
    accuracy: float  # share of target tokens that are the model's first choice, true past given


class Speed(NamedTuple):
    """Timings, which differ from run to run: never for a file that DVC hashes."""

    tokens_per_second: float  # real source and target tokens of all ranks, training alone
    seconds: float  # of training and validation so far, in all processes that it took
    padding_share: float  # of the positions in this rank's batches
    # What the model's own operations take of the best that the devices can do; None: not measured.
    mfu: float | None
    peak_memory_bytes: int  # of the rank that needed most; a CPU's is the whole process's
    seconds_waiting_for_data: float  # since the row before, of the rank that waited longest

    def figures(self) -> dict[str, float]:
        """By name, but for what was not measured."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Reporter(Protocol):
    """Hears of training as it goes."""

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Before the step that follows `step` done ones."""

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Every `log_every_steps`."""

    def on_validation(self, row: ValidRow) -> None:
        """After each validation."""

    def on_end(self) -> None:
        """After the last step, also when training fails."""


class ProgressBar:
    """Loss, tokens a second, FLOP utilisation, time left: on standard error."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._shown: dict[str, str] = {}

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Opens the bar, at `step`."""
        interval = 0.2 if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES
        self._bar = tqdm(
            total=num_steps,
            initial=step,
            unit="step",
            file=sys.stderr,
            mininterval=interval,
            miniters=1,  # tqdm's own choice would wait for as many steps as passed before
            smoothing=_SMOOTHING,
            dynamic_ncols=True,
        )

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Moves it."""
        self._shown |= {
            "loss": f"{row.train_loss:.3f}",
            "tokens/s": f"{speed.tokens_per_second:,.0f}",
        }
        if speed.mfu is not None:
            self._shown["of peak"] = f"{speed.mfu:.0%}"
        self._move(row.step)

    def on_validation(self, row: ValidRow) -> None:
        """Shows the validation's figures from here on."""
        self._shown |= {"valid": f"{row.valid_loss:.3f}", "accuracy": f"{row.accuracy:.3f}"}
        self._move(row.step)

    def on_end(self) -> None:
        """Closes it."""
        if self._bar is not None:
            self._bar.close()

    def _move(self, step: int) -> None:
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(step - self._bar.n)


def valid_row(step: int, negative_log_likelihood: float, num_correct: int, count: int) -> ValidRow:
    """A validation's figures from its sums over `count` tokens."""
    loss = negative_log_likelihood / count
    perplexity = math.exp(min(loss, 700.0))  # finite, also for a hopeless model
    return ValidRow(step, loss, perplexity, num_correct / count)


def write_curve(path: Path, rows: Sequence[TrainRow] | Sequence[ValidRow]) -> None:
    """A curve as CSV with a header; nine digits, which hold a float32 exactly."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if rows:
            writer.writerow(rows[0]._fields)
        for row in rows:
            writer.writerow([f"{v:.9g}" if isinstance(v, float) else v for v in row])
