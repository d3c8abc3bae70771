"""Where the pairs of a corpus are from, as its column `origin` says."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from transformer.text.corpus import BATCH_PAIRS, ORIGIN, open_parquet
from transformer.text.shards import Shard, read_columns

# Told apart in reports: those with most pairs.
MAX_ORIGINS = 20
OTHERS = "(others)"


@dataclass(frozen=True)
class Origins:
    """The pairs of each origin, numbered in their order: most first.

    An origin is what stands before the first slash of the column. Without a column there is none,
    and all pairs have the number 0.
    """

    counts: dict[str, int]
    are_told: bool

    @property
    def number(self) -> int:
        """How many numbers there are."""
        return max(1, len(self.counts))

    def number_of(self, value: str) -> int:
        """The number for a value of the column."""
        return self._numbers.get(_name(value), len(self.counts) - 1) if self.are_told else 0

    def read(self, shard: Shard) -> list[str]:
        """The column's values in a shard; empty ones where there is no column.

        Raises:
            ValueError: a value is missing; the line is told.
        """
        if not self.are_told:
            return [""] * len(shard.lines)
        return [value for (values,) in read_columns(shard, ORIGIN) for value in values]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.counts)}


def count_origins(path: Path) -> Origins:
    """Reads the column of a Parquet file of pairs; the smallest origins are counted together."""
    counts: Counter[str] = Counter()
    with open_parquet(path) as file:
        if ORIGIN not in file.schema_arrow.names:
            return Origins({}, False)
        for batch in file.iter_batches(BATCH_PAIRS, columns=[ORIGIN]):
            for value, count in Counter(batch.columns[0].to_pylist()).items():
                counts[_name(value)] += count
    order = sorted(counts, key=lambda name: (-counts[name], name))
    told = {name: counts[name] for name in order[:MAX_ORIGINS]}
    if len(order) > MAX_ORIGINS:
        told[OTHERS] = sum(counts[name] for name in order[MAX_ORIGINS:])
    return Origins(told, True)


def _name(value: str | None) -> str:
    return (value or "").split("/", 1)[0]
