"""What is told of a training that can't go on: the batch, and the settings to change."""

from transformer.text.ids import Ids
from transformer.training.batching import Integers, Pairs
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


def tell_memory(config: TrainConfig, batch: StepBatch, step: int) -> str:
    """Of a step for which the device's memory did not do; the largest part needs most."""
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


def tell_divergence(train: Pairs, indices: Integers, step: int, rate: float) -> str:
    """Of a step whose loss or gradient was infinite or no number."""
    source, target = train.source_lengths[indices].max(), train.target_lengths[indices].max()
    return (
        f"the loss or its gradient was not finite at step {step}, "
        f"{_shape(len(indices), source, target)}, learning rate {rate:.3g}; "
        "no model was saved. Try a lower train.learning_rate, more "
        "train.schedule.warmup_steps, a smaller train.max_grad_norm, model.norm = 'pre', or "
        "train.precision = 'float32'"
    )


def _shape(num_pairs: int, num_source: int, num_target: int) -> str:
    return f"batch of {num_pairs} pairs, up to {num_source} source and {num_target} target tokens"
