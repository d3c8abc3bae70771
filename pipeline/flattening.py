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


def list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The flat params that differ, each with its old and new value; None where there is none."""
    before, after = flatten(old), flatten(new)
    return {
        key: (before.get(key), after.get(key))
        for key in dict.fromkeys([*before, *after])
        if (key in before, before.get(key)) != (key in after, after.get(key))
    }
