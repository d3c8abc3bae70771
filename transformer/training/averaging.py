"""The mean of the latest snapshots of a model's weights."""

from collections import deque
from collections.abc import Mapping

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


class WeightAverage:
    """Keeps the last `size` snapshots, on the CPU, and gives their mean (2017, section 6.1)."""

    def __init__(self, size: int) -> None:
        self._snapshots: deque[Weights] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._snapshots)

    def add(self, weights: Mapping[str, Tensor]) -> None:
        """Takes a copy; the oldest one goes once there are more than `size`."""
        self._snapshots.append({k: v.detach().to("cpu", copy=True) for k, v in weights.items()})

    def snapshots(self) -> list[Weights]:
        """From the oldest to the newest. Not copies."""
        return list(self._snapshots)

    def mean(self) -> Weights:
        """The mean, summed from the oldest to the newest: new tensors on the CPU."""
        first, *others = self._snapshots
        mean = {}
        for name, value in first.items():
            total = value.double()
            for other in others:
                total += other[name]
            mean[name] = (total / len(self._snapshots)).to(value.dtype)
        return mean


def model_weights(model: nn.Module) -> Weights:
    """The trained tensors by name; shared ones once, under their first name. Not copies."""
    return {name: value.detach() for name, value in model.named_parameters()}


@torch.no_grad()
def set_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies `weights`, named as in `model_weights`, into the model."""
    for name, value in model.named_parameters():
        value.copy_(weights[name])
