"""Token ids on disk, memory-mapped.

A split has, per side, two files: `.bin`, all sentences' ids one after the other, each sentence
closed by its end token (no start token); and `.offsets.bin`, int64, where sentence i is
`ids[offsets[i] : offsets[i + 1]]`. Both are little-endian and have no header.
"""

import itertools
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from transformer.batches import batched
from transformer.config import parse_section
from transformer.files import (
    check_sha256,
    read_json,
    read_sealed,
    sha256_file,
    write_json,
    write_sealed,
)
from transformer.text.pairs import PairDataset
from transformer.text.special_tokens import SpecialIds
from transformer.text.tokenizer import TokenizerPair

META = "meta.json"
SIDES = ("source", "target")
SPLITS = ("train", "valid")
# Pairs that are tokenized at once: enough to keep the cores busy, small beside any corpus.
BATCH_PAIRS = 8192


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
        self.source_lengths = _lengths(folder, name, "source", self.source_offsets)
        self.target_lengths = _lengths(folder, name, "target", self.target_offsets)


@dataclass(frozen=True)
class Ids:
    """The ids that a model is trained and validated on."""

    train: PairDataset
    valid: PairDataset
    meta: IdsMeta


def load_ids(folder: Path, checked: Path | None = None) -> Ids:
    """Maps what `write_ids` wrote; nothing but the lengths is read into memory.

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


def write_ids(
    folder: Path,
    train: Iterable[tuple[str, str]],
    valid: Iterable[tuple[str, str]],
    tokenizers: TokenizerPair,
    max_tokens: int,
) -> IdsMeta:
    """Tokenizes both splits into `folder`, which exists. Memory does not grow with the corpus.

    Args:
        folder: where the files go.
        train: training pairs; one whose longer side exceeds `max_tokens` is dropped.
        valid: validation pairs; none is dropped.
        tokenizers: their larger vocabulary sets the width of an id, 16 or 32 bits.
        max_tokens: the longest sequence kept, its end token included.

    Raises:
        ValueError: a split ends up without pairs.
    """
    largest = max(tokenizers.source.size, tokenizers.target.size)
    dtype: Literal["<u2", "<u4"] = "<u2" if largest <= 1 << 16 else "<u4"
    counts = {
        "train": _write_split(folder, "train", train, tokenizers, dtype, max_tokens),
        "valid": _write_split(folder, "valid", valid, tokenizers, dtype, None),
    }
    for name, count in counts.items():
        if not count.pairs:
            raise ValueError(
                f"split {name!r} has no pairs left: {count.dropped_too_long} were longer than "
                f"tokenize.max_tokens = {max_tokens}; raise it or check the corpus"
            )
    meta = IdsMeta(
        source_vocab_size=tokenizers.source.size,
        target_vocab_size=tokenizers.target.size,
        source=tokenizers.source.special,
        target=tokenizers.target.special,
        joint=tokenizers.is_joint,
        dtype=dtype,
        max_tokens=max_tokens,
        tokenizer_sha256=tokenizers.sha256,
        counts=counts,
        sha256=hash_files(folder),
    )
    meta.write(folder)
    return meta


def _write_split(
    folder: Path,
    name: str,
    pairs: Iterable[tuple[str, str]],
    tokenizers: TokenizerPair,
    dtype: str,
    max_tokens: int | None,
) -> SplitCounts:
    written = dropped = 0
    with ExitStack() as stack:
        sides = {side: _SideWriter(stack, folder, name, side, dtype) for side in SIDES}
        for batch in batched(pairs, BATCH_PAIRS):
            source = tokenizers.source.encode_batch([pair[0] for pair in batch])
            target = tokenizers.target.encode_batch([pair[1] for pair in batch])
            kept = [
                (s, t)
                for s, t in zip(source, target, strict=True)
                if max_tokens is None or max(len(s), len(t)) < max_tokens  # room for the end token
            ]
            sides["source"].append([s for s, _ in kept], tokenizers.source.eos_id)
            sides["target"].append([t for _, t in kept], tokenizers.target.eos_id)
            written += len(kept)
            dropped += len(batch) - len(kept)
    return SplitCounts(
        pairs=written,
        dropped_too_long=dropped,
        source_tokens=sides["source"].num_tokens,
        target_tokens=sides["target"].num_tokens,
        longest_source=sides["source"].longest,
        longest_target=sides["target"].longest,
    )


class _SideWriter:
    """Appends sentences to one side's two files."""

    def __init__(self, stack: ExitStack, folder: Path, name: str, side: str, dtype: str) -> None:
        ids, offsets = _paths(folder, name, side)
        self._ids: IO[bytes] = stack.enter_context(ids.open("wb"))
        self._offsets: IO[bytes] = stack.enter_context(offsets.open("wb"))
        self._offsets.write(np.zeros(1, dtype="<i8").tobytes())
        self._dtype = dtype
        self.num_tokens = 0
        self.longest = 0

    def append(self, sentences: list[list[int]], eos_id: int) -> None:
        """Writes sentences, each closed by `eos_id`."""
        if not sentences:
            return
        lengths = np.array([len(ids) + 1 for ids in sentences], dtype=np.int64)
        closed = (id for ids in sentences for id in itertools.chain(ids, (eos_id,)))
        self._ids.write(np.fromiter(closed, dtype=self._dtype, count=int(lengths.sum())).tobytes())
        self._offsets.write((self.num_tokens + np.cumsum(lengths)).astype("<i8").tobytes())
        self.num_tokens += int(lengths.sum())
        self.longest = max(self.longest, int(lengths.max()))


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


def _lengths(folder: Path, name: str, side: str, offsets: NDArray[Any]) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = np.diff(np.asarray(offsets))
    if len(lengths) and int(lengths.min()) < 1:
        index = int(lengths.argmin())
        raise ValueError(
            f"{_paths(folder, name, side)[1]}: offset {index + 1} is {int(offsets[index + 1])}, "
            f"which does not exceed the one before it, {int(offsets[index])}; run the stage "
            "`tokenize` again"
        )
    return lengths
