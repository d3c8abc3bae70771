"""The optimizer that the config asks for."""

from collections.abc import Iterable

import torch
from torch import nn

from transformer.training.config import OptimizerConfig


def make_optimizer(
    config: OptimizerConfig, parameters: Iterable[nn.Parameter]
) -> torch.optim.Optimizer:
    """Adam or AdamW in its fused form; weight decay on matrices alone.

    The learning rate is set step by step with `set_learning_rate`.
    """
    parameters = list(parameters)
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    kind = torch.optim.AdamW if config.kind == "adamw" else torch.optim.Adam
    return kind(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Sets the rate of every parameter group."""
    for group in optimizer.param_groups:
        group["lr"] = rate
