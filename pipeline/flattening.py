"""Nested values under the dotted names of `params.yaml`."""

from collections.abc import Mapping
from typing import Any


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{'train': {'seed': 1}} -> {'train.seed': 1}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def numbers(values: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The numbers among nested values, with `prefix.` before their dotted names."""
    return {
        name: float(value)
        for name, value in flatten(values, f"{prefix}.").items()
        if isinstance(value, int | float)
    }
