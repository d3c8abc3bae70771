"""The optimizer that the config asks for."""

from collections.abc import Iterable

import torch
from torch import nn

from transformer.model.transformer import Transformer
from transformer.training.config import AdamConfig, MuonConfig, OptimizerConfig
from transformer.training.muon import Muon


def make_optimizer(config: OptimizerConfig, model: Transformer) -> torch.optim.Optimizer:
    """Adam or AdamW in its fused form, or Muon with AdamW; weight decay on matrices alone.

    The learning rate is set step by step with `set_learning_rate`.
    """
    if not isinstance(config, MuonConfig):
        return _adam(config, model.parameters())
    matrices = {
        parameter: 3 if name.endswith("in_proj.weight") else 1
        for stack in (model.encoder, model.decoder)
        for name, parameter in stack.named_parameters()
        if parameter.ndim == 2
    }
    others = [parameter for parameter in model.parameters() if parameter not in matrices]
    return Muon(matrices.items(), _adam(config, others), config.momentum, config.weight_decay)


def _adam(
    config: AdamConfig | MuonConfig, parameters: Iterable[nn.Parameter]
) -> torch.optim.Optimizer:
    parameters = list(parameters)
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    kind = torch.optim.Adam if config.kind == "adam" else torch.optim.AdamW
    return kind(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Sets the rate of every parameter group."""
    for group in optimizer.param_groups:
        group["lr"] = rate
