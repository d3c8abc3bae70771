"""The curves of a training, row by row."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from transformer.files import atomic_write


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
