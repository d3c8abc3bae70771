"""One experiment with several seeds: what its runs are called, and what they came to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from pipeline.experiments.grid import Point
from pipeline.experiments.overview import Experiment, list_scored
from pipeline.repository import run_git

SEED = "train.seed"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# Of the figures in `reports/metrics`, those that are told, with their decimals.
_TOLD = {"bleu": 2, "chrf": 2, "ter": 2, "int8_bleu": 2, "perplexity": 3}


@dataclass(frozen=True)
class Spread:
    """A figure over several seeds."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        return cls(sum(values) / len(values), min(values), max(values))


def plan_repeats(name: str, changes: Sequence[str], num_seeds: int) -> list[Point]:
    """The experiments `NAME-seed=1`, `NAME-seed=2`, ...

    Raises:
        ValueError: git takes no such name, or a change sets the seed.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r}: a name is made of letters, digits, '.', '_' and '-'")
    if any(change.partition("=")[0].strip() == SEED for change in changes):
        raise ValueError(f"-S {SEED}: `repeat` sets it to 1, 2, ...; --seeds says how many")
    return [
        Point((seed - 1,), (*changes, f"{SEED}={seed}"), f"{name}-seed={seed}")
        for seed in range(1, num_seeds + 1)
    ]


def list_repeats(name: str) -> list[str]:
    """The experiments of the last commit that `repeat NAME` made, by seed; empty: none."""
    head = run_git("rev-parse", "HEAD")
    below = f"refs/exps/{head[:2]}/{head[2:]}"
    names = run_git("for-each-ref", below, "--format=%(refname:lstrip=4)").splitlines()
    pattern = re.compile(re.escape(name) + r"-seed=(\d+)")
    found = {int(match[1]): one for one in names if (match := pattern.fullmatch(one))}
    return [found[seed] for seed in sorted(found)]


def find_scored(names: Sequence[str]) -> list[Experiment]:
    """Those of these experiments of the last commit that were scored, in their order."""
    head = run_git("rev-parse", "HEAD")
    found = {one.name: one for one in list_scored() if one.baseline == head}
    return [found[name] for name in names if name in found]


def spread_figures(found: Sequence[Experiment]) -> dict[str, Spread]:
    """Of each figure that all have: mean, least and greatest; in the order that they are told."""
    names = [key for key in _TOLD if all(key in one.figures for one in found)]
    return {key: Spread.of([one.figures[key] for one in found]) for key in names}


def describe_repeats(found: Sequence[Experiment], spreads: Mapping[str, Spread]) -> str:
    """A line for each seed, and the mean with the range."""
    table = [["", *spreads]]
    table += [[one.name, *(_tell(key, one.figures[key]) for key in spreads)] for one in found]
    table.append(["mean", *(_tell(key, one.mean) for key, one in spreads.items())])
    ranges = (f"{_tell(key, one.low)} to {_tell(key, one.high)}" for key, one in spreads.items())
    table.append(["range", *ranges])
    return str(tabulate(table, tablefmt="plain", disable_numparse=True, stralign="right"))


def _tell(key: str, value: float) -> str:
    return f"{value:.{_TOLD[key]}f}"
