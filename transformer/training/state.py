"""Everything that changes while a model is trained, as it is and as it is saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.model.weights import Weights, set_weights
from transformer.training.averaging import MovingAverage, WeightAverage
from transformer.training.reporting import TrainRow, ValidRow

_PLAIN = ("num_target_tokens", "best_step", "best_loss", "num_bad_validations", "seconds")


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


class SavedState(NamedTuple):
    """A `TrainState`, but for config and data. The tensors are on the CPU, and stay as they are."""

    step: int
    values: Mapping[str, Any]  # for JSON; numbers may be infinite
    mutable: Mapping[str, Tensor]  # what every step changes
    # What only a validation changes, in groups. Within one run of the process a name stands for
    # one content, so that a group need not be written again.
    immutable: Mapping[str, Mapping[str, Tensor]]


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
    moving: MovingAverage | None = None
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

    def state_dict(self) -> SavedState:
        """The state as it is, copied: training may go on while it is written."""
        mutable: dict[str, Tensor] = {}
        for name, parameter in self.model.named_parameters():
            mutable[f"weights/{name}"] = parameter
            for key, value in self.optimizer.state[parameter].items():
                mutable[f"optimizer/{key}/{name}"] = value
        if self.moving is not None:
            mutable |= {f"moving/{name}": value for name, value in self.moving.weights.items()}
        for key, value in self.sums._asdict().items():
            mutable[f"sums/{key}"] = value
        mutable["accuracy"] = self.accuracy
        # The snapshots are those of the latest validations.
        snapshots = self.average.snapshots()
        steps = [row.step for row in self.valid_rows][len(self.valid_rows) - len(snapshots) :]
        immutable = {_snapshot(step): w for step, w in zip(steps, snapshots, strict=True)}
        if self.best_weights is not None:
            immutable[_best(self.best_step)] = self.best_weights
        values = {name: getattr(self, name) for name in _PLAIN} | {
            "train_rows": [list(row) for row in self.train_rows],
            "valid_rows": [list(row) for row in self.valid_rows],
            "accuracies": list(self.accuracies),
            "snapshots": steps,
        }
        copies = {
            name: value.detach().to("cpu", copy=True).contiguous()
            for name, value in mutable.items()
        }
        return SavedState(self.step, values, copies, immutable)

    @torch.no_grad()
    def load_state_dict(self, saved: SavedState) -> None:
        """Puts a freshly started state of the same training where `saved` was taken.

        Everything is copied into memory that PyTorch laid out itself, since the last bits of a
        product may depend on how its operands are aligned.
        """
        mutable, values = saved.mutable, saved.values
        parameters = dict(self.model.named_parameters())
        set_weights(self.model, {name: mutable[f"weights/{name}"] for name in parameters})
        for key, value in mutable.items():
            kind, *rest = key.split("/")
            if kind == "optimizer":
                entry, name = rest
                parameter = parameters[name]
                self.optimizer.state[parameter][entry] = value.to(parameter.device, copy=True)
        if self.moving is not None:
            for name, mean in self.moving.weights.items():
                mean.copy_(mutable[f"moving/{name}"])
        device = self.sums.loss.device
        self.sums = Sums(*(mutable[f"sums/{key}"].to(device, copy=True) for key in Sums._fields))
        self.accuracy = mutable["accuracy"].to(device, copy=True)
        self.accuracies = list(values["accuracies"])
        self.step = saved.step
        for name in _PLAIN:
            setattr(self, name, values[name])
        self.train_rows = [TrainRow(*row) for row in values["train_rows"]]
        self.valid_rows = [ValidRow(*row) for row in values["valid_rows"]]
        for step in values["snapshots"]:
            self.average.add(saved.immutable[_snapshot(step)])
        best = saved.immutable.get(_best(self.best_step))
        self.best_weights = None if best is None else {k: v.clone() for k, v in best.items()}


def _snapshot(step: int) -> str:
    return f"snapshot-{step:09d}"


def _best(step: int) -> str:
    return f"best-{step:09d}"
