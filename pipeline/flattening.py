"""Nested values under the dotted names of `params.yaml`, to be shown, compared and tracked."""

import difflib
from collections.abc import Mapping
from typing import Any

from transformer.urls import hide_secrets


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{'train': {'seed': 1}} -> {'train.seed': 1}. Secrets in URLs become asterisks."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = hide_secrets(value) if isinstance(value, str) else value
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


def tell_unknown_key(key: str, values: Mapping[str, Any]) -> str:
    """Says that nested values have no such dotted name, and which similar one they have."""
    names = {name: name.rsplit(".", 1)[-1] for name in flatten(values)}
    last = difflib.get_close_matches(key.rsplit(".", 1)[-1], names.values(), n=1, cutoff=0.7)
    alike = [name for name in names if names[name] in last]
    alike = difflib.get_close_matches(key, alike, n=1, cutoff=0)  # the section may be mistyped too
    advice = f"; did you mean {alike[0]!r}?" if alike else ""
    return f"params.yaml has no key {key!r}{advice}"
