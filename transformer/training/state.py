"""Everything that changes while a model is trained."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.training.averaging import WeightAverage, Weights
from transformer.training.reporting import TrainRow, ValidRow


class Sums(NamedTuple):
    """Since the last row; the tensors stay on the device, so that no step waits for it."""

    loss: Tensor
    gradient_norm: Tensor
    first_bad_step: Tensor  # int64; 0: none


def zero_sums(device: torch.device) -> Sums:
    """The sums right after a row."""
    return Sums(
        loss=torch.zeros((), device=device),
        gradient_norm=torch.zeros((), device=device),
        first_bad_step=torch.zeros((), dtype=torch.int64, device=device),
    )


@dataclass
class TrainState:
    """All of training's memory: config, data and this give the next step, nothing else does.

    The position in the data and every random number follow from `step` and the seed. Between two
    steps no gradient is held, so there is no position within gradient accumulation.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    average: WeightAverage
    sums: Sums
    accuracy: Tensor  # float32 [], summed over those steps of this epoch that measure it
    num_target_tokens: int = 0  # target tokens behind `sums`
    step: int = 0  # optimizer steps done
    best_step: int = 0
    best_loss: float = float("inf")  # of the validations so far
    best_weights: Weights | None = None  # kept only where training may stop early
    num_bad_validations: int = 0  # validations since the best one
    train_rows: list[TrainRow] = field(default_factory=list)
    valid_rows: list[ValidRow] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)  # of the epochs done
    seconds: float = 0.0  # spent on the steps done; steps that were lost don't count
