"""The text stages as plain loops, which the shards are held against."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transformer.files import atomic_folder
from transformer.text import vocabulary
from transformer.text.augment import Augmenter
from transformer.text.casing import mark_case
from transformer.text.clean_config import CleanConfig
from transformer.text.cleaning import (
    REJECTS,
    CleanReport,
    OriginReport,
    Reject,
    clean_pair,
    normalize_pair,
    normalize_side,
)
from transformer.text.corpus import (
    PARTS,
    SCHEMA,
    Pair,
    PairWriter,
    part_path,
    read_pairs,
    write_pairs,
)
from transformer.text.filters import DUPLICATE, REASONS, list_limits, make_filters
from transformer.text.manifest import write_hashes
from transformer.text.noise import KINDS
from transformer.text.scoring import LOW_SCORE, score_pairs
from transformer.text.tokenizer import TokenizerPair

# The filters for noisy text, all off.
FOR_NOISE: dict[str, Any] = {
    "min_letter_share": None,
    "max_word_length": None,
    "max_repetitions": None,
    "min_digit_overlap": None,
    "drop_different_placeholders": False,
    "min_language_probability": None,
    "score": None,
}


def clean_plainly(config: CleanConfig, raw: Path, folder: Path) -> CleanReport:
    """What `clean_corpus` writes and reports, pair by pair in one process; all scores at once."""
    origins = read_origins(part_path(raw, "train"))
    read_of = name_origins(origins)
    name_of = partial(find_name, read_of)
    samples = {
        (reason, origin): Sample(config.num_reject_samples, Random(config.seed))
        for reason in REASONS
        for origin in read_of
    }
    counts, kept = Counter[tuple[str, str]](), Counter[str]()
    read = num_augmented = 0
    seen: set[Pair] = set()
    noise = dict.fromkeys(KINDS, 0)
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
            ("fr", "en"),
        )
        augment = None
        if config.augment is not None:
            normalize = partial(normalize_side, config=config.source)
            augment = Augmenter(config.augment, config.seed, normalize, filters)
        scores = []
        if config.score is not None:
            good = [
                candidate
                for pair in read_pairs(part_path(raw, "train"))
                for candidate, _, reason in clean_pair(pair, config, filters)
                if reason is None
            ]
            scores = score_pairs(config.score.command, good, range(len(good)))
        next_score = iter(scores)
        rows: list[tuple[Any, ...]] = []
        for read, pair in enumerate(read_pairs(part_path(raw, "train")), start=1):
            origin = origins[read - 1]
            name = name_of(origin)
            outcomes = clean_pair(pair, config, filters)
            for sentence, (candidate, cleaned, reason) in enumerate(outcomes):
                score = next(next_score) if scores and reason is None else 0.0
                if reason is None and config.score and config.score.min_score is not None:
                    reason = LOW_SCORE if score < config.score.min_score else None
                if reason is None and config.drop_duplicates:
                    reason = DUPLICATE if cleaned in seen else None
                    seen.add(cleaned)
                if reason is None:
                    if augment is not None:
                        clean = cleaned
                        cleaned, kinds = augment(read, sentence, candidate[0], clean)
                        num_augmented += cleaned != clean
                        for bit, kind in enumerate(KINDS):
                            noise[kind] += kinds >> bit & 1
                    rows.append((*cleaned, origin, score))
                    kept[name] += 1
                else:
                    counts[reason, name] += 1
                    samples[reason, name].offer(Reject(read, reason, *candidate, origin))
        columns = [*SCHEMA.names, *["origin"] * (origins[0] is not None), *["score"] * bool(scores)]
        table = pa.Table.from_pylist(
            [
                {name: row[n] for n, name in enumerate(("source", "target", "origin", "score"))}
                for row in rows
            ]
        ).select(columns)
        schema = pa.schema([field.with_nullable(False) for field in table.schema])
        with PairWriter(part_path(temporary, "train"), schema) as writer:
            writer.write_table(table.cast(schema))
        write_hashes(temporary)
        rejects = sorted(
            (reject for sample in samples.values() for reject in sample.kept),
            key=lambda reject: (reject.line, reject.reason, reject.source, reject.target),
        )
        with (temporary / REJECTS).open("w", encoding="utf-8", newline="\n") as file:
            for reject in rejects:
                values = asdict(reject)
                if reject.origin is None:
                    del values["origin"]
                file.write(json.dumps(values, ensure_ascii=False) + "\n")
    rejected = {reason: sum(counts[reason, name] for name in read_of) for reason in REASONS}
    return CleanReport(
        read=read,
        candidates=len(rows) + sum(rejected.values()),
        kept=len(rows),
        rejected=rejected,
        limits=list_limits(config),
        origins={
            name: OriginReport(
                read_of[name],
                kept[name],
                {reason: counts[reason, name] for reason in REASONS},
                kept[name],
            )
            for name in read_of
            if origins[0] is not None
        },
        score_quantiles=quantiles(sorted(map(float, np.array(scores, np.float32)))),
        augmented=num_augmented,
        noise=noise,
        valid=held_out["valid"],
        test=held_out["test"],
    )


def tokenize_plainly(
    pairs: dict[str, list[Pair]], tokenizers: TokenizerPair, max_tokens: int
) -> dict[str, bytes]:
    """The files of `write_corpus_ids` but `meta.json`, from all ids in one process."""
    largest = max(tokenizers.source.size, tokenizers.target.size)
    dtype = "<u2" if largest <= 1 << 16 else "<u4"
    files = {}
    for split, texts in pairs.items():
        encoded = [
            ([*tokenizers.source.encode(s), 3], [*tokenizers.target.encode(t), 3]) for s, t in texts
        ]
        kept = [p for p in encoded if split == "valid" or max(map(len, p)) <= max_tokens]
        for side, sentences in zip(("source", "target"), zip(*kept, strict=True), strict=True):
            offsets = np.cumsum([0, *map(len, sentences)])
            files[f"{split}.{side}.bin"] = np.concatenate(sentences).astype(dtype).tobytes()
            files[f"{split}.{side}.offsets.bin"] = offsets.astype("<i8").tobytes()
    return files


def read_origins(path: Path) -> list[str | None]:
    """The column of each row; None where there is none."""
    table = pq.read_table(path)
    is_told = "origin" in table.column_names
    return table["origin"].to_pylist() if is_told else [None] * len(table)


def name_origins(origins: list[str | None]) -> dict[str, int]:
    """How many pairs each has, most first; those after the twentieth together."""
    counts = Counter((origin or "").split("/")[0] for origin in origins)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    rest = sum(count for _, count in ranked[20:])
    return dict(ranked[:20]) | ({"(others)": rest} if rest else {})


def find_name(names: dict[str, int], origin: str | None) -> str:
    name = (origin or "").split("/")[0]
    return name if name in names else "(others)"


def quantiles(scores: list[float]) -> dict[str, float]:
    """The least score that has at least such a share of the scores at or below it."""
    shares = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
    return {
        f"{share:g}": round(next(s for n, s in enumerate(scores, 1) if n >= share * len(scores)), 6)
        for share in shares
        if scores
    }


def fit_plainly(spec: Any, texts: Iterable[str]) -> str:
    """The `tokenizer.json` that the library fits where it is given the texts themselves."""
    marked = getattr(spec, "mark_case", False)
    texts = [mark_case(text) if marked else text for text in texts]

    def train(fast: Any, trainer: Any, *_: Any, **__: Any) -> None:
        fast.train_from_iterator(texts, trainer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_train", train)
        return vocabulary.fit_tokenizer(spec, []).json


class Sample:
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
