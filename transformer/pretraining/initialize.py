"""Weights of one model put into another, layer by layer, with a report of what was taken."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.model.weights import model_weights, set_weights


class Taken(NamedTuple):
    """What became of one tensor of the model that is initialised."""

    name: str
    num_taken: int  # values that come from the other model
    num_values: int
    reason: str  # why not all of them; empty where all are


def take_weights(
    model: Transformer, weights: Mapping[str, Tensor], *, same_vocabulary: bool
) -> list[Taken]:
    """Puts weights into `model` wherever names and shapes agree; the rest stays as it is.

    A table with a row for each token, so an embedding or the projection, may have rows behind
    those of the vocabulary, such as sentinels: then the rows that both have are taken.

    Args:
        model: it is changed.
        weights: of the other model, as `model_weights` names them.
        same_vocabulary: whether an id means the same token to both; if not, tables of tokens
            are left alone.

    Returns:
        A line for each tensor of `model`, in its order.
    """
    own = model_weights(model)
    report, changed = [], {}
    for name, value in own.items():
        other = weights.get(name)
        new, reason = _merge(value, other, _is_by_token(name), same_vocabulary)
        changed[name] = value if new is None else new
        num_taken = 0
        if new is not None and other is not None:
            num_taken = value.numel() if value.shape == other.shape else _common(value, other)
        report.append(Taken(name, num_taken, value.numel(), reason))
    set_weights(model, changed)
    return report


def describe_taken(report: list[Taken]) -> str:
    """The report for people: what was not taken whole, then the sum.

    Tensors that were left alone for one reason share a line under the longest name that they have
    in common, such as that of a whole layer.
    """
    groups: dict[str, list[Taken]] = {}
    for taken in report:
        if taken.num_taken < taken.num_values:
            groups.setdefault(_group(taken, report), []).append(taken)
    lines = [
        f"{name}: {sum(taken.num_taken for taken in group):,} of "
        f"{sum(taken.num_values for taken in group):,} values ({group[0].reason})"
        for name, group in groups.items()
    ]
    whole = sum(taken.num_taken == taken.num_values for taken in report)
    taken_values, values = (
        sum(getattr(taken, name) for taken in report) for name in ("num_taken", "num_values")
    )
    lines.append(
        f"{whole} of {len(report)} tensors taken whole, {taken_values:,} of {values:,} values"
    )
    return "\n".join(lines)


def _group(taken: Taken, report: list[Taken]) -> str:
    """The shortest leading part of a name under which all tensors were left alone alike."""
    parts = taken.name.split(".")
    for end in range(1, len(parts)):
        name = ".".join(parts[:end])
        below = [one for one in report if one.name.startswith(f"{name}.")]
        if all((one.num_taken, one.reason) == (0, taken.reason) for one in below):
            return name
    return taken.name


def _is_by_token(name: str) -> bool:
    return ".tokens." in name or name.startswith("output_projection.")


def _merge(
    own: Tensor, other: Tensor | None, is_by_token: bool, same_vocabulary: bool
) -> tuple[Tensor | None, str]:
    if other is None:
        return None, "the other model has none"
    if is_by_token and not same_vocabulary:
        return None, "another vocabulary"
    if own.shape == other.shape:
        return other.to(own), ""
    if is_by_token and own.shape[1:] == other.shape[1:]:
        rows = min(len(own), len(other))
        merged = torch.cat([other[:rows].to(own), own[rows:]])
        return merged, "" if rows == len(own) else f"the other model has {len(other)} rows"
    return None, f"{list(other.shape)} there, {list(own.shape)} here"


def _common(own: Tensor, other: Tensor) -> int:
    return min(len(own), len(other)) * own[0].numel()
