"""Means of a model's weights: of its latest snapshots, and a moving one."""

from collections import deque
from collections.abc import Mapping

import torch
from torch import Tensor

from transformer.model.weights import Weights


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


class MovingAverage:
    """An exponential moving average of weights, on their device.

    The decay of update n is (1 + n) / (10 + n) until that exceeds the one that was asked for, so
    that the initial weights don't linger.
    """

    def __init__(self, weights: Mapping[str, Tensor], decay: float) -> None:
        self.weights: Weights = {name: value.detach().clone() for name, value in weights.items()}
        self._decay = decay

    @torch.no_grad()
    def update(self, weights: Mapping[str, Tensor], step: int) -> None:
        """Takes in the weights after the step of this number, counted from 1."""
        decay = min(self._decay, (1 + step) / (10 + step))
        means = list(self.weights.values())
        torch._foreach_lerp_(means, [weights[name] for name in self.weights], 1 - decay)
