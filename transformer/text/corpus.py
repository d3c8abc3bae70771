"""Parallel text on disk: Parquet files with the columns `source` and `target`.

A corpus of several places has a column `origin` too: such as `gnome`, or `gnome/po/de.po`.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from transformer.files import atomic_write

Pair = tuple[str, str]
PARTS = ("train", "valid", "test")
# Pairs that are held in memory at once, in reading or writing.
BATCH_PAIRS = 16384
SCHEMA: Any = pa.schema(
    [pa.field("source", pa.string(), False), pa.field("target", pa.string(), False)]
)
ORIGIN = "origin"


def part_path(folder: Path, part: str) -> Path:
    """Where `folder` keeps the part train, valid or test."""
    return folder / f"{part}.parquet"


class PairWriter:
    """Writes pairs one by one to a Parquet file; the same pairs give the same bytes.

    Use it as a context manager, on a path that nothing else reads yet.
    """

    def __init__(self, path: Path, schema: Any = SCHEMA) -> None:
        self.num_pairs = 0
        self._pairs: list[Pair] = []
        self._tables: list[Any] = []
        self._writer: Any = pq.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def write(self, pair: Pair) -> None:
        """Adds one pair."""
        self._pairs.append(pair)
        self.num_pairs += 1
        if len(self._pairs) == BATCH_PAIRS:
            self._flush()

    def write_table(self, table: Any) -> None:
        """Adds the pairs of a table that `make_table` made: the bytes are as if one by one."""
        assert not self._pairs, "pairs come one by one, or in tables"
        self.num_pairs += table.num_rows
        self._tables.append(table)
        if sum(one.num_rows for one in self._tables) >= BATCH_PAIRS:
            whole = pa.concat_tables(self._tables)
            end = whole.num_rows - whole.num_rows % BATCH_PAIRS
            for start in range(0, end, BATCH_PAIRS):
                self._writer.write_table(whole.slice(start, BATCH_PAIRS).combine_chunks())
            self._tables = [whole.slice(end)]

    def _flush(self) -> None:
        if self._pairs:
            self._writer.write_table(make_table(self._pairs))
            self._pairs = []
        rest = pa.concat_tables(self._tables) if self._tables else None
        if rest is not None and rest.num_rows:
            self._writer.write_table(rest.combine_chunks())


def make_table(pairs: Sequence[Pair]) -> Any:
    """Pairs as an Arrow table."""
    columns = [pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1)]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def write_pairs(path: Path, pairs: Iterable[Pair]) -> int:
    """Writes pairs to `path`, whole or not at all; returns how many there were."""
    with atomic_write(path) as temporary, PairWriter(temporary) as writer:
        for pair in pairs:
            writer.write(pair)
    return writer.num_pairs


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a Parquet file in order, a batch at a time in memory.

    Raises:
        ValueError: there is no such file, it is no Parquet, or lacks a column.
    """
    with open_parquet(path) as file:
        for batch in file.iter_batches(BATCH_PAIRS, columns=["source", "target"]):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def read_side(path: Path, side: str) -> Iterator[str]:
    """One column of a Parquet file, `source` or `target`. Raises as `read_pairs` does."""
    with open_parquet(path) as file:
        for batch in file.iter_batches(BATCH_PAIRS, columns=[side]):
            yield from batch.columns[0].to_pylist()


def open_parquet(path: Path) -> Any:
    """A Parquet file of pairs, to be closed. Raises as `read_pairs` does."""
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; run the stages before this one") from None
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from error
    missing = {"source", "target"} - set(file.schema_arrow.names)
    if missing:
        file.close()
        raise ValueError(
            f"{path}: no column {', '.join(sorted(missing))}; "
            f"there are {', '.join(file.schema_arrow.names)}"
        )
    return file
