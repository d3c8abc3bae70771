"""The curves of a training, row by row."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from transformer.files import write_csv


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


def write_curve(
    path: Path, kind: type[TrainRow | ValidRow], rows: Sequence[TrainRow | ValidRow]
) -> None:
    """A curve as CSV; nine digits, which hold a float32 exactly."""
    values = ([f"{v:.9g}" if isinstance(v, float) else v for v in row] for row in rows)
    write_csv(path, kind._fields, values)
