"""A grid of settings: which experiments a sweep has, and what they are called."""

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

# The sweep of `python -m pipeline sweep` where no other is asked for.
DEFAULT = ("train.learning_rate=0.002,0.004,0.008", "model.dropout=0.0,0.1,0.2")
_NUM_DIGITS = 6
# What git allows in no name, and what would be hard to type.
_UNWANTED = re.compile(r"[^A-Za-z0-9_.=-]+")


@dataclass(frozen=True)
class Axis:
    """A param with the values that it takes."""

    key: str
    values: tuple[str, ...]

    @property
    def label(self) -> str:
        """The last part of the key: `learning_rate`."""
        return self.key.rsplit(".", 1)[-1]


@dataclass(frozen=True)
class Point:
    """One experiment of a sweep."""

    # An index into the values of each axis.
    place: tuple[int, ...]
    # As `dvc exp run -S` takes them, fixed ones included.
    changes: tuple[str, ...]
    # The values of the axes; what is fixed stands in it as the sweep's digits only.
    name: str


@dataclass(frozen=True)
class Grid:
    """One or two axes, and changes that all experiments share."""

    axes: tuple[Axis, ...]
    fixed: tuple[str, ...]

    @property
    def sweep(self) -> str:
        """A few digits that tell sweeps of other fixed settings apart; empty if there are none."""
        if not self.fixed:
            return ""
        return hashlib.sha256("\n".join(sorted(self.fixed)).encode()).hexdigest()[:_NUM_DIGITS]

    def points(self) -> list[Point]:
        """All experiments, the last axis running fastest."""
        labels = [axis.label for axis in self.axes]
        keys = labels if len(set(labels)) == len(labels) else [axis.key for axis in self.axes]
        points = []
        for place in itertools.product(*(range(len(axis.values)) for axis in self.axes)):
            values = [axis.values[index] for axis, index in zip(self.axes, place, strict=True)]
            here = [f"{axis.key}={value}" for axis, value in zip(self.axes, values, strict=True)]
            words = [f"{key}={value}" for key, value in zip(keys, values, strict=True)]
            name = "-".join([*words, *filter(None, [self.sweep])])
            points.append(Point(place, (*self.fixed, *here), _UNWANTED.sub("_", name)))
        return points


def parse_grid(changes: Sequence[str]) -> Grid:
    """Reads `KEY=VALUE` and `KEY=VALUE,VALUE,...`; without any of the latter, the default's axes.

    Raises:
        ValueError: not of this form, a key or value given twice, or more than two axes.
    """
    parsed = [_parse(change) for change in changes]
    if all(len(axis.values) == 1 for axis in parsed):
        parsed += [_parse(change) for change in DEFAULT]
    keys = [axis.key for axis in parsed]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"-S {twice[0]}: given twice; list its values: {twice[0]}=1,2,3")
    axes = tuple(axis for axis in parsed if len(axis.values) > 1)
    if len(axes) > 2:
        raise ValueError(
            f"-S: {len(axes)} params have several values "
            f"({', '.join(axis.key for axis in axes)}); a sweep has one or two of them"
        )
    fixed = tuple(f"{axis.key}={axis.values[0]}" for axis in parsed if len(axis.values) == 1)
    return Grid(axes, fixed)


def _parse(change: str) -> Axis:
    key, separator, text = change.partition("=")
    # Commas inside brackets belong to a value, such as a list.
    values = tuple(value.strip() for value in re.split(r",(?![^\[{]*[\]}])", text))
    if not separator or not key.strip() or not all(values):
        raise ValueError(f"-S {change!r}: expected KEY=VALUE or KEY=VALUE,VALUE")
    if len(set(values)) < len(values):
        raise ValueError(f"-S {change!r}: a value stands there twice")
    return Axis(key.strip(), values)
