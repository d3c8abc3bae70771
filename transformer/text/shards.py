"""A corpus in shards: runs of rows of a Parquet file, a worker's piece of work."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.text.corpus import Pair, open_parquet

# A shard has so many pairs at least, where there are as many: seconds of work, tens of megabytes.
SHARD_PAIRS = 1 << 15
_SAMPLE_SEED = 1


class Shard(NamedTuple):
    """Some whole row groups of a Parquet file of pairs."""

    path: Path
    groups: range
    # Rows of the file, the first from 1.
    lines: range

    def __str__(self) -> str:
        return f"{self.path}, lines {self.lines.start} to {self.lines.stop - 1}"


def cut_shards(path: Path) -> list[Shard]:
    """The shards of a file, in order.

    Raises:
        ValueError: there is no such file, it is no Parquet, or lacks a column.
    """
    shards: list[Shard] = []
    with open_parquet(path) as file:
        metadata = file.metadata
        first, line = 0, 1
        end = line
        for group in range(metadata.num_row_groups):
            end += metadata.row_group(group).num_rows
            if end - line >= SHARD_PAIRS or group == metadata.num_row_groups - 1:
                shards.append(Shard(path, range(first, group + 1), range(line, end)))
                first, line = group + 1, end
    return shards


def sample_lines(num_lines: int, size: int) -> NDArray[np.int64]:
    """Lines of a corpus, rising from 1: one of each of `size` runs of equal length, at random.

    The same ones each time, whatever the shards are.
    """
    edges = np.arange(size + 1, dtype=np.int64) * num_lines // size
    return edges[:-1] + np.random.default_rng(_SAMPLE_SEED).integers(np.diff(edges)) + 1


def read_columns(
    shard: Shard, *columns: str, lines: NDArray[np.int64] | None = None
) -> Iterator[list[Any]]:
    """Columns of a shard, a row group at a time: a list of each one's values.

    Args:
        shard: which.
        columns: their names.
        lines: those that are wanted, rising; None: all.

    Raises:
        ValueError: a value is missing; the line is told.
    """
    with open_parquet(shard.path) as file:
        line = shard.lines.start
        for group in shard.groups:
            table = file.read_row_group(group, columns=list(columns), use_threads=False)
            num_rows = table.num_rows
            for name in columns:
                if table[name].null_count:
                    row = table[name].is_null().to_pylist().index(True)
                    raise ValueError(f"line {line + row}: no {name}")
            if lines is not None:
                first, last = np.searchsorted(lines, [line, line + num_rows])
                table = table.take(lines[first:last] - line)
            line += num_rows
            yield [table[name].to_pylist() for name in columns]


def read_shard(shard: Shard) -> Iterator[tuple[int, Pair]]:
    """The pairs of a shard with their lines. Raises as `read_columns` does."""
    line = shard.lines.start
    for sources, targets in read_columns(shard, "source", "target"):
        yield from enumerate(zip(sources, targets, strict=True), start=line)
        line += len(sources)
