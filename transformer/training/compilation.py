"""Compiling what training steps run, before the first of them."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental import _config as symbolic_shapes

from transformer.training.batching import Batch
from transformer.training.config import TrainConfig
from transformer.training.distributed import Gradients
from transformer.training.loader import StepBatch, StepBatches
from transformer.training.problems import memory_checked

# Steps whose batches are looked through for what is to be compiled.
_NUM_LOOKED_AT = 100
# Beyond PyTorch's own limit, of 8, steps are no longer compiled.
_MAX_GRAPHS = 32


def is_compiled(config: TrainConfig, device: torch.device) -> bool:
    """Whether steps are to be compiled."""
    return device.type == "cuda" if config.compile == "auto" else bool(config.compile)


def compile_ahead(
    loss: Callable[[Batch], Tensor],
    gradients: Gradients,
    batches: StepBatches,
    steps: range,
    config: TrainConfig,
    device: torch.device,
) -> None:
    """Compiles all that steps will run: passes over a batch of each kind, forward and backward.

    A graph differs by whether the source is padded, and on a GPU by whether each length is a
    multiple of 8, which the compiler's call of a fused attention depends on. Lengths that
    happen to be equal in the first batch stay two numbers.

    Args:
        loss: of a batch on `device`; compiled as it is called.
        gradients: those of the model, which gather what the passes give.
        batches: of the training.
        steps: that follow, each by the number of those before it.
        config: for the message.
        device: of the model.

    Raises:
        ValueError: the device's memory does not hold a batch.
    """
    torch._dynamo.config.recompile_limit = max(_MAX_GRAPHS, torch._dynamo.config.recompile_limit)
    nothing = StepBatch(np.array([], dtype=np.int64), [], 0, 0, 0)
    found: dict[tuple[bool, ...], StepBatch] = {}
    for step in steps[:_NUM_LOOKED_AT]:
        step_batch = batches.make(step)
        for part in step_batch.parts:
            lengths = part[1].source.shape[1], part[1].target.shape[1]
            kind = tuple(length % 8 == 0 for length in lengths)
            found.setdefault(kind, step_batch._replace(parts=[part]))
    with symbolic_shapes.patch(use_duck_shape=False):  # type: ignore[attr-defined]
        for kind in itertools.product((False, True), repeat=2):
            # As often on each rank: one without such a batch adds zeros.
            sample = found.get(kind, nothing).to(device)
            for is_padded in (False, True):
                padded = [_with_mask(batch, is_padded) for _, batch in sample.parts]
                with memory_checked(config, sample, steps.start + 1):
                    gradients.backward([partial(loss, batch) for batch in padded])


def _with_mask(batch: Batch, is_padded: bool) -> Batch:
    mask = torch.ones_like(batch.source, dtype=torch.bool) if is_padded else None
    return batch._replace(source_mask=mask)
