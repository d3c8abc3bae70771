"""Parallel text on disk: Parquet files with the columns `source` and `target`."""

from collections.abc import Iterable, Iterator
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
_SCHEMA: Any = pa.schema(
    [pa.field("source", pa.string(), False), pa.field("target", pa.string(), False)]
)


def part_path(folder: Path, part: str) -> Path:
    """Where `folder` keeps the part train, valid or test."""
    return folder / f"{part}.parquet"


class PairWriter:
    """Writes pairs one by one to a Parquet file; the same pairs give the same bytes.

    Use it as a context manager, on a path that nothing else reads yet.
    """

    def __init__(self, path: Path) -> None:
        self.num_pairs = 0
        self._pairs: list[Pair] = []
        self._writer: Any = pq.ParquetWriter(path, _SCHEMA, compression="zstd")

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

    def _flush(self) -> None:
        if self._pairs:
            columns = [pa.array(column, pa.string()) for column in zip(*self._pairs, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA))
            self._pairs = []


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
    with _open(path) as file:
        for batch in file.iter_batches(BATCH_PAIRS, columns=["source", "target"]):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def read_side(path: Path, side: str) -> Iterator[str]:
    """One column of a Parquet file, `source` or `target`. Raises as `read_pairs` does."""
    with _open(path) as file:
        for batch in file.iter_batches(BATCH_PAIRS, columns=[side]):
            yield from batch.columns[0].to_pylist()


def _open(path: Path) -> Any:
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
