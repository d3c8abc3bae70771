"""Cleaning a raw corpus: normalising all of it, filtering and augmenting its training part."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transformer.compute.shards import map_shards
from transformer.files import atomic_folder, write_csv, write_json
from transformer.text.augment import KINDS, Augmenter
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.corpus import (
    BATCH_PAIRS,
    PARTS,
    SCHEMA,
    Pair,
    PairWriter,
    part_path,
    read_pairs,
    write_pairs,
)
from transformer.text.duplicates import find_duplicates
from transformer.text.filters import (
    DUPLICATE,
    EMPTY,
    SENTENCE_COUNT,
    Filter,
    judge,
    make_filters,
)
from transformer.text.hashing import hash_sentence
from transformer.text.manifest import write_hashes
from transformer.text.normalize import normalize
from transformer.text.rejects import Places, Rejects
from transformer.text.sentences import split_sentences
from transformer.text.shards import Shard, cut_shards, read_shard
from transformer.text.weights import Weights

REJECTS = "rejects.jsonl"


@dataclass(frozen=True)
class Reject:
    """A training pair that was not kept, as it stood before normalisation."""

    # The pair's place in the raw training part, from 1.
    line: int
    reason: str
    source: str
    target: str


@dataclass(frozen=True)
class CleanReport:
    """What cleaning did. `candidates` = `kept` + the sum of `rejected`."""

    # Raw training pairs.
    read: int
    # Pairs that were judged; more than `read` where pairs were cut into sentences.
    candidates: int
    kept: int
    # How many pairs each reason took, zeros included.
    rejected: Mapping[str, int]
    # Of the pairs kept, those whose source has noise.
    augmented: int
    # How many sources each kind of noise changed, zeros included; some were changed by several.
    noise: Mapping[str, int]
    # Pairs of the parts that nothing is ever dropped from.
    valid: int
    test: int
    # By part of a corpus of several: what its weight makes of the pairs kept.
    weighted: Mapping[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes all counts, for metrics."""
        values = asdict(self)
        if not self.weighted:
            del values["weighted"]
        write_json(path, values)

    def write_reasons(self, path: Path) -> None:
        """Writes a table with the columns `reason` and `count`, for plots."""
        write_csv(path, ["reason", "count"], self.rejected.items())


# What is kept of a shard: the pair with its noise, its place, the kinds of noise as `Augmenter`
# tells them, and a number that is the same where the pairs are, noise aside.
_KEPT: Any = pa.schema(
    [
        *SCHEMA,
        pa.field("line", pa.int64()),
        pa.field("sentence", pa.int64()),
        pa.field("noise", pa.uint8()),
        pa.field("key", pa.uint64()),
    ]
)


def clean_corpus(config: CleanConfig, raw: Path, folder: Path) -> CleanReport:
    """Writes the cleaned parts, their hashes and a sample of the rejects into `folder`, or nothing.

    Validation and test keep every pair in its place: line n is line n of the raw part. Training
    text is cleaned shard by shard; what comes out depends on neither their size nor the engine.

    Raises:
        ValueError: a raw part is missing, or no training pair is left; the reasons are counted.
    """
    shards = cut_shards(part_path(raw, "train"))
    read = sum(len(shard.lines) for shard in shards)
    rejects = Rejects()
    noise = np.zeros(1 << len(KINDS), dtype=np.int64)  # rows by the kinds that changed them
    weights = Weights(raw, config.seed)
    kept = 0
    with atomic_folder(folder) as temporary:
        held_out = {
            part: write_pairs(
                part_path(temporary, part),
                (normalize_pair(pair, config) for pair in read_pairs(part_path(raw, part))),
            )
            for part in PARTS
            if part != "train"
        }
        filters = make_filters(
            config, (pair for part in held_out for pair in read_pairs(part_path(temporary, part)))
        )
        tables = _clean_shards(config, filters, shards, rejects)
        if config.drop_duplicates:
            tables = _drop_duplicates(tables, rejects, temporary / ".kept.parquet")
        with PairWriter(part_path(temporary, "train")) as writer:
            for table in tables:
                noise += np.bincount(table["noise"].to_numpy(), minlength=len(noise))
                kept += table.num_rows
                writer.write_table(weights.repeat(table).select(SCHEMA.names))
        counts = rejects.counts
        if not writer.num_pairs:
            told = ", ".join(f"{reason} {count}" for reason, count in counts.items() if count)
            raise ValueError(
                f"cleaning left none of {read} training pairs (reasons: {told}); "
                "loosen the limits in the section `clean`"
            )
        write_hashes(temporary)
        _write_rejects(temporary / REJECTS, config, shards, rejects)
    kinds = np.arange(len(noise))
    return CleanReport(
        read=read,
        candidates=kept + sum(counts.values()),
        kept=kept,
        rejected=counts,
        augmented=int(noise[1:].sum()),
        noise={kind: int(noise[kinds >> bit & 1 == 1].sum()) for bit, kind in enumerate(KINDS)},
        valid=held_out["valid"],
        test=held_out["test"],
        weighted=weights.counts,
    )


def clean_shard(
    config: CleanConfig, filters: list[Filter], shard: Shard
) -> tuple[Any, dict[str, Places]]:
    """Cleans a shard of raw training pairs, duplicates aside.

    Returns:
        A table of what is kept; of each reason that took some, the places of what it took.
    """
    augment = _make_augmenter(config, filters)
    kept: list[tuple[str, str, int, int, int, int]] = []
    rejected: dict[str, list[tuple[int, int]]] = {}
    for line, pair in read_shard(shard):
        for sentence, (candidate, cleaned, reason) in enumerate(clean_pair(pair, config, filters)):
            if reason is not None:
                rejected.setdefault(reason, []).append((line, sentence))
                continue
            # Normalised text holds no line ends, so the two sides can't run into each other.
            key = hash_sentence("\n".join(cleaned)) if config.drop_duplicates else 0
            kinds = 0
            if augment is not None:
                cleaned, kinds = augment(line, sentence, candidate[0], cleaned)
            kept.append((*cleaned, line, sentence, kinds, key))
    columns = zip(*kept, strict=True) if kept else [()] * len(_KEPT)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, _KEPT, strict=True)]
    places = {reason: np.array(found) for reason, found in rejected.items()}
    return pa.Table.from_arrays(arrays, schema=_KEPT), places


def _clean_shards(
    config: CleanConfig, filters: list[Filter], shards: Sequence[Shard], rejects: Rejects
) -> Iterator[Any]:
    for kept, rejected in map_shards(partial(clean_shard, config, filters), shards):
        for reason, places in rejected.items():
            rejects.add(reason, places)
        yield kept


def _drop_duplicates(tables: Iterable[Any], rejects: Rejects, path: Path) -> Iterator[Any]:
    # The first of equal pairs stays. What may be a later one waits at `path` for the whole corpus.
    with pq.ParquetWriter(path, _KEPT, compression="lz4") as writer:
        for table in tables:
            writer.write_table(table)
    duplicates, start = find_duplicates(path), 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_PAIRS):
            table = pa.Table.from_batches([batch], _KEPT)
            first, last = np.searchsorted(duplicates, [start, start + len(batch)])
            later = np.zeros(len(batch), dtype=bool)
            later[duplicates[first:last] - start] = True
            start += len(batch)
            dropped = table.filter(later)
            rejects.add(
                DUPLICATE,
                np.stack([dropped[name].to_numpy() for name in ("line", "sentence")], axis=1),
            )
            yield table.filter(~later)
    path.unlink()


def _write_rejects(
    path: Path, config: CleanConfig, shards: Sequence[Shard], rejects: Rejects
) -> None:
    # The pairs as they came are read again, and cut again where they hold several sentences.
    sample = list(rejects.sample(config.num_reject_samples, config.seed))
    wanted = {line for _, line, _ in sample}
    raw = {
        line: pair
        for shard in shards
        if any(line in shard.lines for line in wanted)
        for line, pair in read_shard(shard)
        if line in wanted
    }
    found = []
    for reason, line, sentence in sample:
        candidate, _, _ = next(islice(clean_pair(raw[line], config, []), sentence, None))
        found.append(Reject(line, reason, *candidate))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for reject in sorted(found, key=lambda one: (one.line, one.reason, one.source, one.target)):
            file.write(json.dumps(asdict(reject), ensure_ascii=False) + "\n")


def normalize_side(text: str, config: NormalizationConfig) -> str:
    """One side's normalisation as its config has it."""
    return normalize(
        text,
        lowercase=config.lowercase,
        strip_punctuation=config.strip_punctuation,
        fold_typography=config.fold_typography,
    )


def normalize_pair(pair: Pair, config: CleanConfig) -> Pair:
    """Both sides normalised."""
    return normalize_side(pair[0], config.source), normalize_side(pair[1], config.target)


def clean_pair(
    pair: Pair, config: CleanConfig, filters: list[Filter]
) -> Iterator[tuple[Pair, Pair, str | None]]:
    """Judges a raw training pair, or each sentence of it.

    Yields:
        The pair before and after normalisation, with the reason against it; None keeps it.
    """
    candidates = [pair]
    if config.single_sentence:
        sides = [
            split_sentences(
                normalize(side, lowercase=False, strip_punctuation=False, fold_typography=False)
            )
            for side in pair
        ]
        if not all(sides):
            yield pair, normalize_pair(pair, config), EMPTY
            return
        if len(sides[0]) != len(sides[1]):
            yield pair, normalize_pair(pair, config), SENTENCE_COUNT
            return
        if len(sides[0]) > 1:
            candidates = list(zip(*sides, strict=True))
    for candidate in candidates:
        cleaned = normalize_pair(candidate, config)
        yield candidate, cleaned, judge(cleaned, filters)


def _make_augmenter(config: CleanConfig, filters: list[Filter]) -> Augmenter | None:
    if config.augment is None:
        return None
    return Augmenter(
        config.augment,
        config.seed,
        partial(normalize_side, config=config.source),
        filters,
    )
