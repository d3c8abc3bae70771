"""What is told of a training that can't go on: the batch, and the settings to change."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from transformer.text.ids import Ids
from transformer.text.pairs import Integers, PairDataset
from transformer.training.config import TrainConfig
from transformer.training.loader import StepBatch
from transformer.training.validation import rows_that_fit


def check_lengths(ids: Ids, max_positions: int) -> None:
    """Refuses data that the model's positions can't hold; validation does with what fits.

    Raises:
        ValueError: naming the split, the side, both lengths.
    """
    for side in ("source", "target"):
        longest = int(getattr(ids.train, f"{side}_lengths").max())
        if longest > max_positions:
            raise ValueError(
                f"the longest {side} of train has {longest} tokens, but model.max_positions = "
                f"{max_positions}; raise it, or lower tokenize.max_tokens"
            )
    if not rows_that_fit(ids.valid, max_positions).size:
        raise ValueError(
            f"every pair of valid is longer than model.max_positions = {max_positions} tokens; "
            "raise it, or give shorter validation text"
        )


class DivergedError(ValueError):
    """The loss or the gradient is infinite or NaN; no model was saved."""


@contextmanager
def memory_checked(config: TrainConfig, batch: StepBatch, step: int) -> Iterator[None]:
    """Runs what a step does with a batch; the largest part needs most.

    Raises:
        ValueError: the device's memory does not hold it.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ValueError(_tell_memory(config, batch, step)) from error


def _tell_memory(config: TrainConfig, batch: StepBatch, step: int) -> str:
    shapes = [(part.source.shape, part.target.shape) for _, part in batch.parts]
    shape = "outside of any batch"
    if shapes:
        source, target = max(shapes, key=lambda pair: pair[0].numel() + pair[1].numel())
        shape = _shape(source[0], source[1], target[1])
    name = "batch_tokens" if config.batch_sentences is None else "batch_sentences"
    return (
        f"out of memory at step {step}, {shape}; lower train.{name} = "
        f"{getattr(config, name)} and raise train.gradient_accumulation = "
        f"{config.gradient_accumulation} by the same factor, which keeps the result"
    )


def diverged(train: PairDataset, indices: Integers, step: int, rate: float) -> DivergedError:
    """The error of a step, by its sentences, whose loss or gradient was infinite or NaN."""
    source, target = train.source_lengths[indices].max(), train.target_lengths[indices].max()
    return DivergedError(
        f"the loss or its gradient was not finite at step {step}, "
        f"{_shape(len(indices), source, target)}, learning rate {rate:.3g}; "
        "no model was saved. Try a lower train.learning_rate, more "
        "train.schedule.warmup_steps, a smaller train.max_grad_norm, model.norm = 'pre', or "
        "train.precision = 'float32'"
    )


def _shape(num_pairs: int, num_source: int, num_target: int) -> str:
    return f"batch of {num_pairs} pairs, up to {num_source} source and {num_target} target tokens"
