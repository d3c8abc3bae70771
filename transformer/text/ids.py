"""Token ids on disk, memory-mapped.

A split has, per side, two files: `.bin`, all sentences' ids one after the other, each sentence
closed by its end token (no start token); and `.offsets.bin`, int64, where sentence i is
`ids[offsets[i] : offsets[i + 1]]`. Both are little-endian and have no header.
"""

import itertools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from transformer.config import parse_section
from transformer.files import (
    check_sha256,
    read_json,
    read_sealed,
    sha256_file,
    write_json,
    write_sealed,
)
from transformer.text.pairs import Lengths, PairDataset, blocks
from transformer.text.special_tokens import SpecialIds

META = "meta.json"
SIDES = ("source", "target")
SPLITS = ("train", "valid")

_VocabSize = Annotated[int, Field(ge=1, le=1 << 32)]


class SplitCounts(NamedTuple):
    """What one split holds. Tokens and lengths count end tokens."""

    pairs: int
    dropped_too_long: int
    source_tokens: int
    target_tokens: int
    longest_source: int
    longest_target: int

    def as_metrics(self) -> dict[str, float]:
        """All counts with the mean lengths, rounded to six digits."""
        return self._asdict() | {
            "mean_source_tokens": round(self.source_tokens / max(self.pairs, 1), 6),
            "mean_target_tokens": round(self.target_tokens / max(self.pairs, 1), 6),
        }


@dataclass(frozen=True)
class IdsMeta:
    """What a folder of ids says of itself, in `meta.json`."""

    source_vocab_size: _VocabSize
    target_vocab_size: _VocabSize
    source: SpecialIds
    target: SpecialIds
    joint: bool
    dtype: Literal["<u2", "<u4"]
    max_tokens: int
    tokenizer_sha256: str
    counts: Mapping[str, SplitCounts]
    # Of each other file in the folder, by its name.
    sha256: Mapping[str, str]

    def write(self, folder: Path) -> None:
        """Writes `meta.json`."""
        value = asdict(self) | {
            "source": self.source._asdict(),
            "target": self.target._asdict(),
            "counts": {name: counts._asdict() for name, counts in self.counts.items()},
        }
        write_sealed(folder / META, value)

    def write_report(self, path: Path) -> None:
        """Writes the counts of each split, for metrics."""
        write_json(path, {name: counts.as_metrics() for name, counts in self.counts.items()})

    @classmethod
    def read(cls, folder: Path) -> "IdsMeta":
        """Reads `meta.json`. Raises ValueError if it is missing, changed, or of another form."""
        path = folder / META
        meta, problems = parse_section(cls, "meta", read_sealed(path, "tokenize"))
        if meta is not None:
            problems = [
                f"meta.{side} = {tuple(special)}: not all within the vocabulary of {size}"
                for side, special, size in meta.sides
                if not all(0 <= id < size for id in special)
            ]
        if meta is None or problems:
            raise ValueError(
                f"{path} has another form than this version writes ({'; '.join(problems)}); "
                "run the stage `tokenize` again"
            )
        return meta

    @property
    def sides(self) -> tuple[tuple[str, SpecialIds, int], ...]:
        """Of each side its name, special ids and size of vocabulary."""
        return (
            ("source", self.source, self.source_vocab_size),
            ("target", self.target, self.target_vocab_size),
        )


class IdsSplit(PairDataset):
    """One split, read from disk when asked for; ids are unsigned and read-only."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        """Maps the files of split `name`. Raises ValueError if they don't belong together."""
        self.source_ids, self.source_offsets = _map(folder, name, "source", dtype)
        self.target_ids, self.target_offsets = _map(folder, name, "target", dtype)
        if len(self.source_offsets) != len(self.target_offsets):
            raise ValueError(
                f"{folder}: split {name!r} has {len(self.source_offsets) - 1} source and "
                f"{len(self.target_offsets) - 1} target sentences; run `tokenize` again"
            )
        for side, offsets in zip(SIDES, (self.source_offsets, self.target_offsets), strict=True):
            _check_rising(_paths(folder, name, side)[1], offsets)


@dataclass(frozen=True)
class Ids:
    """The ids that a model is trained and validated on."""

    train: PairDataset
    valid: PairDataset
    meta: IdsMeta


def load_ids(folder: Path, checked: Path | None = None) -> Ids:
    """Maps what the stage `tokenize` wrote; nothing is read into memory.

    Args:
        folder: where it lies.
        checked: a file that remembers which files were found sound, by size and time of change, so
            that their bytes are not all read at each start; None: they are read.

    Raises:
        ValueError: a file is missing, damaged or edited, or the files don't belong together.
    """
    meta = IdsMeta.read(folder)
    _check_files(folder, meta, checked)
    train, valid = (IdsSplit(folder, name, meta.dtype) for name in SPLITS)
    return Ids(train=train, valid=valid, meta=meta)


def hash_files(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file but `meta.json`, in hexadecimal, by its name."""
    paths = (path for name in SPLITS for side in SIDES for path in _paths(folder, name, side))
    return {path.name: sha256_file(path) for path in paths}


def _paths(folder: Path, name: str, side: str) -> tuple[Path, Path]:
    return folder / f"{name}.{side}.bin", folder / f"{name}.{side}.offsets.bin"


def _check_files(folder: Path, meta: IdsMeta, checked: Path | None) -> None:
    # Bytes and range of ids; what stands in `checked` was found right, and is the same file still.
    known = _read_checked(checked)
    sound: dict[str, Any] = {}
    for name, (side, _, vocab_size) in itertools.product(SPLITS, meta.sides):
        paths = _paths(folder, name, side)
        hashes = [meta.sha256.get(path.name, "nothing of that name") for path in paths]
        facts = {
            str(path.resolve()): [path.stat().st_size, path.stat().st_mtime_ns, sha256, vocab_size]
            for path, sha256 in zip(paths, hashes, strict=True)
            if path.is_file()
        }
        if len(facts) == len(paths) and facts.items() <= known.items():
            continue
        for path, sha256 in zip(paths, hashes, strict=True):
            check_sha256(path, sha256, "tokenize")
        largest = int(_map(folder, name, side, meta.dtype)[0].max())
        if largest >= vocab_size:
            raise ValueError(
                f"{paths[0]} holds the id {largest}, but the vocabulary of {META} ends at "
                f"{vocab_size - 1}; run the stage `tokenize` again"
            )
        sound |= facts
    if checked is not None and sound:
        here = {path: facts for path, facts in known.items() if Path(path).exists()}
        with suppress(OSError):  # it costs the next start time, and nothing else
            write_json(checked, here | sound)


def _read_checked(checked: Path | None) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        if checked is not None and isinstance(known := read_json(checked), dict):
            return known
    return {}


def _map(folder: Path, name: str, side: str, dtype: str) -> tuple[NDArray[Any], NDArray[Any]]:
    paths = _paths(folder, name, side)
    types = np.dtype(dtype), np.dtype("<i8")
    for path, one in zip(paths, types, strict=True):
        if not path.is_file() or not path.stat().st_size or path.stat().st_size % one.itemsize:
            raise ValueError(
                f"{path}: missing, empty, or no whole number of {one.itemsize}-byte integers; "
                "run the stage `tokenize` again"
            )
    ids, offsets = (np.memmap(path, one, mode="r") for path, one in zip(paths, types, strict=True))
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(ids):
        raise ValueError(
            f"{paths[1]} goes from {int(offsets[0])} to {int(offsets[-1])}, but {paths[0].name} "
            f"holds the ids 0 to {len(ids)}; run the stage `tokenize` again"
        )
    return ids, offsets


def _check_rising(path: Path, offsets: NDArray[Any]) -> None:
    lengths = Lengths(offsets)
    for rows in blocks(len(lengths)):
        some = lengths[rows]
        if int(some.min()) < 1:
            index = rows.start + int(some.argmin())
            raise ValueError(
                f"{path}: offset {index + 1} is {int(offsets[index + 1])}, which does not exceed "
                f"the one before it, {int(offsets[index])}; run the stage `tokenize` again"
            )
