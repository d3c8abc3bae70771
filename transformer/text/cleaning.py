"""Cleaning a raw corpus: normalising all of it, filtering and augmenting its training part."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from transformer.compute.shards import map_shards
from transformer.files import atomic_folder, write_csv, write_json
from transformer.text.augment import Augmenter
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.corpus import (
    BATCH_PAIRS,
    ORIGIN,
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
    list_limits,
    make_filters,
)
from transformer.text.hashing import hash_sentence
from transformer.text.manifest import read_manifest, write_hashes
from transformer.text.noise import KINDS
from transformer.text.normalize import normalize
from transformer.text.origins import Origins, count_origins
from transformer.text.rejects import Places, Rejects
from transformer.text.scoring import LOW_SCORE, score_pairs
from transformer.text.sentences import split_sentences
from transformer.text.shards import Shard, cut_shards, read_shard
from transformer.text.synthetic import (
    SYNTHETIC,
    count_synthetic,
    describe_share,
    read_synthetic,
)
from transformer.text.weights import Weights

REJECTS = "rejects.jsonl"
# Shares of the scored pairs that lie below the scores in the report.
_QUANTILES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1)


@dataclass(frozen=True)
class Reject:
    """A training pair that was not kept, as it stood before normalisation."""

    # The pair's place in the raw training part, from 1.
    line: int
    reason: str
    source: str
    target: str
    # Where the corpus says it.
    origin: str | None = None

    def to_json(self) -> str:
        """A line, without what the corpus doesn't say."""
        values = {key: value for key, value in asdict(self).items() if value is not None}
        return json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True)
class OriginReport:
    """What cleaning did to the pairs of one origin."""

    read: int
    kept: int
    rejected: Mapping[str, int]
    # What the weight of a part of a corpus makes of the pairs kept.
    weighted: int


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
    # Of the reasons that have one; null where nothing is dropped for them.
    limits: Mapping[str, float | None]
    # Where the corpus says where its pairs are from: the same for each origin.
    origins: Mapping[str, OriginReport]
    # Where pairs have scores: below which score which share of them lies.
    score_quantiles: Mapping[str, float]
    # Of the pairs kept, those whose source has noise.
    augmented: int
    # How many sources each kind of noise changed, zeros included; some were changed by several.
    noise: Mapping[str, int]
    # Pairs of the parts that nothing is ever dropped from.
    valid: int
    test: int

    def write(self, path: Path) -> None:
        """Writes all counts, for metrics."""
        write_json(path, asdict(self))

    def write_reasons(self, path: Path) -> None:
        """Writes a table with the columns `reason` and `count`, for plots."""
        write_csv(path, ["reason", "count"], self.rejected.items())


# What is kept of a shard: the pair with its noise, its origin, its score, its place, the number of
# its origin, the kinds of noise as `Augmenter` tells them, and a number that is the same where the
# pairs are, noise aside.
_KEPT: Any = pa.schema(
    [
        *SCHEMA,
        pa.field(ORIGIN, pa.string(), False),
        pa.field("score", pa.float64(), False),
        pa.field("line", pa.int64()),
        pa.field("sentence", pa.int64()),
        pa.field("origin_number", pa.uint8()),
        pa.field("noise", pa.uint8()),
        pa.field("key", pa.uint64()),
    ]
)


@dataclass(frozen=True)
class _Cleaned:
    # A shard: a table of what is kept; of each reason and origin that took some, the places of
    # what it took; all scores, of what was dropped for them too.
    kept: Any
    rejected: Mapping[tuple[str, int], Places]
    scores: NDArray[np.float32]


def clean_corpus(
    config: CleanConfig, raw: Path, folder: Path, synthetic: Path | None = None
) -> CleanReport:
    """Writes the cleaned parts, their hashes and a sample of the rejects into `folder`, or nothing.

    Where `synthetic` holds training pairs, they are cleaned in place of those of `raw`. Validation
    and test keep every pair in its place: line n is line n of the raw part. Training text is
    cleaned shard by shard; what comes out depends on neither their size nor the engine. Its columns
    are `source` and `target`, `origin` where the raw part has it, and `score` where pairs have one.

    Raises:
        ValueError: a raw part is missing, a filter can't work, or no training pair is left; the
            reasons are counted.
    """
    made = None if synthetic is None else read_synthetic(synthetic)
    train = part_path(raw if synthetic is None or made is None else synthetic, "train")
    shards = cut_shards(train)
    read = sum(len(shard.lines) for shard in shards)
    origins = count_origins(train)
    rejects = Rejects(origins.number)
    noise = np.zeros(1 << len(KINDS), dtype=np.int64)  # rows by the kinds that changed them
    # Rows by the number of their origin, before and after the weights.
    kept, weighted = np.zeros((2, origins.number), dtype=np.int64)
    num_synthetic = 0
    weights = Weights(raw, made, config.seed) if origins.are_told else None
    scores: list[NDArray[np.float32]] = []
    columns = [*SCHEMA.names, *[ORIGIN] * origins.are_told, *["score"] * (config.score is not None)]
    schema = pa.schema([_KEPT.field(name) for name in columns])
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
            config,
            (pair for part in held_out for pair in read_pairs(part_path(temporary, part))),
            None if config.min_language_probability is None else _read_languages(raw),
        )
        tag = None if made is None else made.tag
        work = partial(clean_shard, config, filters, origins, tag)
        tables = _clean_shards(work, shards, rejects, scores)
        if config.drop_duplicates:
            tables = _drop_duplicates(tables, rejects, temporary / ".kept.parquet")
        with PairWriter(part_path(temporary, "train"), schema) as writer:
            for table in tables:
                noise += np.bincount(table["noise"].to_numpy(), minlength=len(noise))
                kept += np.bincount(table["origin_number"].to_numpy(), minlength=len(kept))
                table = table if weights is None else weights.repeat(table)
                weighted += np.bincount(table["origin_number"].to_numpy(), minlength=len(kept))
                num_synthetic += 0 if made is None else count_synthetic(table)
                writer.write_table(table.select(columns))
        counts = rejects.counts
        if not writer.num_pairs:
            told = ", ".join(f"{reason} {count}" for reason, count in counts.items() if count)
            raise ValueError(
                f"cleaning left none of {read} training pairs (reasons: {told}); "
                "loosen the limits in the section `clean`"
            )
        share = None
        if made is not None:
            share = describe_share(made, num_synthetic, writer.num_pairs).model_dump()
        write_hashes(temporary, synthetic=share)
        _write_rejects(temporary / REJECTS, config, origins, shards, rejects)
    kinds = np.arange(len(noise))
    return CleanReport(
        read=read,
        candidates=int(kept.sum()) + sum(counts.values()),
        kept=int(kept.sum()),
        rejected=counts,
        limits=list_limits(config),
        origins={
            name: OriginReport(
                num_read, int(kept[number]), rejects.count(number), int(weighted[number])
            )
            for number, (name, num_read) in enumerate(origins.counts.items())
        },
        score_quantiles=_find_quantiles(scores),
        augmented=int(noise[1:].sum()),
        noise={kind: int(noise[kinds >> bit & 1 == 1].sum()) for bit, kind in enumerate(KINDS)},
        valid=held_out["valid"],
        test=held_out["test"],
    )


def clean_shard(
    config: CleanConfig, filters: list[Filter], origins: Origins, tag: str | None, shard: Shard
) -> _Cleaned:
    """Cleans a shard of raw training pairs, duplicates aside; tags sources that were made."""
    augment = _make_augmenter(config, filters)
    froms = origins.read(shard)
    rejected: dict[tuple[str, int], list[tuple[int, int]]] = {}
    good: list[tuple[int, int, Pair, Pair]] = []
    for line, pair in read_shard(shard):
        for sentence, (candidate, cleaned, reason) in enumerate(clean_pair(pair, config, filters)):
            if reason is None:
                good.append((line, sentence, candidate, cleaned))
            else:
                number = origins.number_of(froms[line - shard.lines.start])
                rejected.setdefault((reason, number), []).append((line, sentence))
    scores = [0.0] * len(good)
    if config.score is not None:
        pairs = [candidate for _, _, candidate, _ in good]
        scores = score_pairs(config.score.command, pairs, [line for line, *_ in good])
    kept: list[tuple[Any, ...]] = []
    for (line, sentence, candidate, cleaned), score in zip(good, scores, strict=True):
        origin = froms[line - shard.lines.start]
        number = origins.number_of(origin)
        if config.score and config.score.min_score is not None and score < config.score.min_score:
            rejected.setdefault((LOW_SCORE, number), []).append((line, sentence))
            continue
        # Normalised text holds no line ends, so the two sides can't run into each other.
        key = hash_sentence("\n".join(cleaned)) if config.drop_duplicates else 0
        kinds = 0
        if augment is not None:
            cleaned, kinds = augment(line, sentence, candidate[0], cleaned)
        if tag is not None and origin == SYNTHETIC:
            cleaned = f"{tag} {cleaned[0]}", cleaned[1]
        kept.append((*cleaned, origin, score, line, sentence, number, kinds, key))
    columns = zip(*kept, strict=True) if kept else [()] * len(_KEPT)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, _KEPT, strict=True)]
    return _Cleaned(
        pa.Table.from_arrays(arrays, schema=_KEPT),
        {where: np.array(found) for where, found in rejected.items()},
        np.array(scores if config.score else [], dtype=np.float32),
    )


def _clean_shards(
    work: Callable[[Shard], _Cleaned],
    shards: Sequence[Shard],
    rejects: Rejects,
    scores: list[NDArray[np.float32]],
) -> Iterator[Any]:
    for cleaned in map_shards(work, shards):
        for (reason, origin), places in cleaned.rejected.items():
            rejects.add(reason, origin, places)
        scores.append(cleaned.scores)
        yield cleaned.kept


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
            places = np.stack([dropped[name].to_numpy() for name in ("line", "sentence")], axis=1)
            numbers = dropped["origin_number"].to_numpy()
            for origin in np.unique(numbers).tolist():
                rejects.add(DUPLICATE, origin, places[numbers == origin])
            yield table.filter(~later)
    path.unlink()


def _write_rejects(
    path: Path, config: CleanConfig, origins: Origins, shards: Sequence[Shard], rejects: Rejects
) -> None:
    # The pairs as they came are read again, and cut again where they hold several sentences.
    sample = list(rejects.sample(config.num_reject_samples, config.seed))
    wanted = {line for _, line, _ in sample}
    raw: dict[int, tuple[Pair, str | None]] = {}
    for shard in shards:
        if any(line in shard.lines for line in wanted):
            froms = origins.read(shard)
            for line, pair in read_shard(shard):
                if line in wanted:
                    origin = froms[line - shard.lines.start] if origins.are_told else None
                    raw[line] = pair, origin
    found = []
    for reason, line, sentence in sample:
        pair, origin = raw[line]
        candidate, _, _ = next(islice(clean_pair(pair, config, []), sentence, None))
        found.append(Reject(line, reason, *candidate, origin))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for reject in sorted(found, key=lambda one: (one.line, one.reason, one.source, one.target)):
            file.write(reject.to_json() + "\n")


def _read_languages(raw: Path) -> tuple[str, str]:
    manifest = read_manifest(raw)
    return manifest.source_language, manifest.target_language


def _find_quantiles(scores: Sequence[NDArray[np.float32]]) -> dict[str, float]:
    found = np.concatenate(scores)
    if not len(found):
        return {}
    values = np.quantile(found, _QUANTILES, method="inverted_cdf").tolist()
    return {f"{share:g}": round(value, 6) for share, value in zip(_QUANTILES, values, strict=True)}


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
