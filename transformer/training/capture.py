"""The state of a training as named tensors and plain values, and back."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.training.averaging import Weights, set_weights
from transformer.training.reporting import TrainRow, ValidRow
from transformer.training.state import Sums, TrainState

_PLAIN = ("num_target_tokens", "best_step", "best_loss", "num_bad_validations", "seconds")


class SavedState(NamedTuple):
    """A `TrainState`, but for config and data. The tensors are on the CPU, and stay as they are."""

    step: int
    values: Mapping[str, Any]  # for JSON; numbers may be infinite
    present: Mapping[str, Tensor]  # what every step changes
    # What only a validation changes, in groups. Within one run of the process a name stands for
    # one content, so that a group need not be written again.
    fixed: Mapping[str, Mapping[str, Tensor]]


def capture(state: TrainState) -> SavedState:
    """The state as it is, copied: training may go on while it is written."""
    present: dict[str, Tensor] = {}
    for name, parameter in state.model.named_parameters():
        present[f"weights/{name}"] = parameter
        for key, value in state.optimizer.state[parameter].items():
            present[f"optimizer/{key}/{name}"] = value
    for key, value in state.sums._asdict().items():
        present[f"sums/{key}"] = value
    present["accuracy"] = state.accuracy
    # The snapshots are those of the latest validations.
    snapshots = state.average.snapshots()
    steps = [row.step for row in state.valid_rows][len(state.valid_rows) - len(snapshots) :]
    fixed = {_snapshot(step): weights for step, weights in zip(steps, snapshots, strict=True)}
    if state.best_weights is not None:
        fixed[_best(state.best_step)] = state.best_weights
    values = {name: getattr(state, name) for name in _PLAIN} | {
        "train_rows": [list(row) for row in state.train_rows],
        "valid_rows": [list(row) for row in state.valid_rows],
        "accuracies": list(state.accuracies),
        "snapshots": steps,
    }
    on_cpu = {
        name: value.detach().to("cpu", copy=True).contiguous() for name, value in present.items()
    }
    return SavedState(state.step, values, on_cpu, fixed)


@torch.no_grad()
def restore(state: TrainState, saved: SavedState) -> None:
    """Puts a freshly started `state` of the same training where `saved` was captured.

    Everything is copied into memory that PyTorch laid out itself, since the last bits of a
    product may depend on how its operands are aligned.
    """
    present, values = saved.present, saved.values
    weights = {name: present[f"weights/{name}"] for name, _ in state.model.named_parameters()}
    set_weights(state.model, weights)
    parameters = dict(state.model.named_parameters())
    for key, value in present.items():
        kind, *rest = key.split("/")
        if kind == "optimizer":
            entry, name = rest
            parameter = parameters[name]
            state.optimizer.state[parameter][entry] = value.to(parameter.device, copy=True)
    device = state.sums.loss.device
    state.sums = Sums(*(present[f"sums/{key}"].to(device, copy=True) for key in Sums._fields))
    state.accuracy = present["accuracy"].to(device, copy=True)
    state.accuracies = list(values["accuracies"])
    state.step = saved.step
    for name in _PLAIN:
        setattr(state, name, values[name])
    state.train_rows = [TrainRow(*row) for row in values["train_rows"]]
    state.valid_rows = [ValidRow(*row) for row in values["valid_rows"]]
    for step in values["snapshots"]:
        state.average.add(saved.fixed[_snapshot(step)])
    best = saved.fixed.get(_best(state.best_step))
    state.best_weights = None if best is None else _copies(best)


def _snapshot(step: int) -> str:
    return f"snapshot-{step:09d}"


def _best(step: int) -> str:
    return f"best-{step:09d}"


def _copies(weights: Mapping[str, Tensor]) -> Weights:
    return {name: value.clone() for name, value in weights.items()}
