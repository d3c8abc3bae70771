"""Cleaning a raw corpus: normalising all of it, filtering and augmenting its training part."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random

from transformer.files import atomic_folder, write_csv, write_json
from transformer.text.augment import KINDS, Augmenter
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.corpus import PARTS, Pair, PairWriter, part_path, read_pairs, write_pairs
from transformer.text.filters import (
    EMPTY,
    REASONS,
    SENTENCE_COUNT,
    Duplicate,
    Filter,
    judge,
    make_filters,
)
from transformer.text.manifest import write_hashes
from transformer.text.normalize import normalize
from transformer.text.sentences import split_sentences

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

    def write(self, path: Path) -> None:
        """Writes all counts, for metrics."""
        write_json(path, asdict(self))

    def write_reasons(self, path: Path) -> None:
        """Writes a table with the columns `reason` and `count`, for plots."""
        write_csv(path, ["reason", "count"], self.rejected.items())


def clean_corpus(config: CleanConfig, raw: Path, folder: Path) -> CleanReport:
    """Writes the cleaned parts, their hashes and a sample of the rejects into `folder`, or nothing.

    Validation and test keep every pair in its place: line n is line n of the raw part.

    Raises:
        ValueError: a raw part is missing, or no training pair is left; the reasons are counted.
    """
    counts = dict.fromkeys(REASONS, 0)
    samples = {
        reason: _Sample(config.num_reject_samples, Random(config.seed)) for reason in REASONS
    }
    read = 0
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
        augment = _make_augmenter(config, filters)
        with PairWriter(part_path(temporary, "train")) as writer:
            for read, pair in enumerate(read_pairs(part_path(raw, "train")), start=1):
                outcomes = clean_pair(pair, config, filters)
                for sentence, (candidate, cleaned, reason) in enumerate(outcomes):
                    if reason is None:
                        if augment is not None:
                            cleaned = augment(read, sentence, candidate[0], cleaned)
                        writer.write(cleaned)
                    else:
                        counts[reason] += 1
                        samples[reason].offer(Reject(read, reason, *candidate))
        if not writer.num_pairs:
            told = ", ".join(f"{reason} {count}" for reason, count in counts.items() if count)
            raise ValueError(
                f"cleaning left none of {read} training pairs (reasons: {told}); "
                "loosen the limits in the section `clean`"
            )
        write_hashes(temporary)
        rejects = sorted(
            (reject for sample in samples.values() for reject in sample.kept),
            key=lambda reject: (reject.line, reject.reason, reject.source, reject.target),
        )
        with (temporary / REJECTS).open("w", encoding="utf-8", newline="\n") as file:
            for reject in rejects:
                file.write(json.dumps(asdict(reject), ensure_ascii=False) + "\n")
    return CleanReport(
        read=read,
        candidates=writer.num_pairs + sum(counts.values()),
        kept=writer.num_pairs,
        rejected=counts,
        augmented=augment.num_pairs if augment else 0,
        noise=augment.counts if augment else dict.fromkeys(KINDS, 0),
        valid=held_out["valid"],
        test=held_out["test"],
    )


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
        [one for one in filters if not isinstance(one, Duplicate)],
    )


class _Sample:
    """A uniform random sample of a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, random: Random) -> None:
        self.kept: list[Reject] = []
        self._size = size
        self._random = random
        self._offered = 0

    def offer(self, reject: Reject) -> None:
        self._offered += 1
        if len(self.kept) < self._size:
            self.kept.append(reject)
        elif (place := self._random.randrange(self._offered)) < self._size:
            self.kept[place] = reject
