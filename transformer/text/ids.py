"""Token ids on disk, memory-mapped.

A split has, per side, two files: `.bin`, all sentences' ids one after the other, each sentence
closed by its end token (no start token); and `.offsets.bin`, int64, where sentence i is
`ids[offsets[i] : offsets[i + 1]]`. Both are little-endian and have no header.
"""

import itertools
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.batches import batched
from transformer.files import read_json, write_json
from transformer.text.pairs import PairDataset
from transformer.text.special_tokens import SpecialIds
from transformer.text.tokenizer import TokenizerPair

META = "meta.json"
SIDES = ("source", "target")
# Pairs that are tokenized at once: enough to keep the cores busy, small beside any corpus.
BATCH_PAIRS = 8192


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

    source_vocab_size: int
    target_vocab_size: int
    source: SpecialIds
    target: SpecialIds
    joint: bool
    dtype: str
    max_tokens: int
    tokenizer_sha256: str
    counts: Mapping[str, SplitCounts]

    def write(self, folder: Path) -> None:
        """Writes `meta.json`."""
        value = asdict(self) | {
            "source": self.source._asdict(),
            "target": self.target._asdict(),
            "counts": {name: counts._asdict() for name, counts in self.counts.items()},
        }
        write_json(folder / META, value)

    def write_report(self, path: Path) -> None:
        """Writes the counts of each split, for metrics."""
        write_json(path, {name: counts.as_metrics() for name, counts in self.counts.items()})

    @classmethod
    def read(cls, folder: Path) -> "IdsMeta":
        """Reads `meta.json`. Raises ValueError if there is none, or it has another form."""
        path = folder / META
        if not path.is_file():
            raise ValueError(f"{path}: no such file; run the stage `tokenize` to make {folder}")
        value: dict[str, Any] = read_json(path)
        try:
            return cls(
                **value
                | {
                    "source": SpecialIds(**value["source"]),
                    "target": SpecialIds(**value["target"]),
                    "counts": {n: SplitCounts(**c) for n, c in value["counts"].items()},
                }
            )
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{path} has another form than this version writes ({error}); "
                "run the stage `tokenize` again"
            ) from error


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
        self.source_lengths = np.diff(np.asarray(self.source_offsets))
        self.target_lengths = np.diff(np.asarray(self.target_offsets))


@dataclass(frozen=True)
class Ids:
    """The ids that a model is trained and validated on."""

    train: PairDataset
    valid: PairDataset
    meta: IdsMeta


def load_ids(folder: Path) -> Ids:
    """Maps what `write_ids` wrote; nothing but the lengths is read into memory.

    Raises:
        ValueError: a file is missing, or the files don't belong together.
    """
    meta = IdsMeta.read(folder)
    train, valid = (IdsSplit(folder, name, meta.dtype) for name in ("train", "valid"))
    return Ids(train=train, valid=valid, meta=meta)


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
    dtype = "<u2" if largest <= 1 << 16 else "<u4"
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


def _map(folder: Path, name: str, side: str, dtype: str) -> tuple[NDArray[Any], NDArray[Any]]:
    paths = _paths(folder, name, side)
    for path in paths:
        if not path.is_file() or not path.stat().st_size:
            raise ValueError(f"{path}: missing or empty; run the stage `tokenize` again")
    ids = np.memmap(paths[0], dtype=dtype, mode="r")
    offsets = np.memmap(paths[1], dtype="<i8", mode="r")
    if int(offsets[-1]) != len(ids):
        raise ValueError(
            f"{paths[0]} holds {len(ids)} ids where {paths[1].name} promises {int(offsets[-1])}; "
            "run the stage `tokenize` again"
        )
    return ids, offsets
