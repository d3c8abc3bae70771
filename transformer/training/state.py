"""Everything that changes while a model is trained."""

from dataclasses import dataclass

import torch

from transformer.model.transformer import Transformer
from transformer.training.averaging import WeightAverage, Weights


@dataclass
class TrainState:
    """All of training's memory: config, data and this give the next step, nothing else does.

    The position in the data and every random number follow from `step` and the seed.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    average: WeightAverage
    step: int = 0  # optimizer steps done
    best_step: int = 0
    best_loss: float = float("inf")  # of the validations so far
    best_weights: Weights | None = None  # kept only where training may stop early
    num_worse: int = 0  # validations since the best one
