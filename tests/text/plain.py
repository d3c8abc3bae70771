"""The text stages as plain loops, which the shards are held against."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from transformer.files import atomic_folder
from transformer.text import vocabulary
from transformer.text.augment import KINDS, Augmenter
from transformer.text.casing import mark_case
from transformer.text.clean_config import CleanConfig
from transformer.text.cleaning import (
    REJECTS,
    CleanReport,
    Reject,
    clean_pair,
    normalize_pair,
    normalize_side,
)
from transformer.text.corpus import PARTS, Pair, PairWriter, part_path, read_pairs, write_pairs
from transformer.text.filters import DUPLICATE, REASONS, make_filters
from transformer.text.manifest import write_hashes
from transformer.text.tokenizer import TokenizerPair


def clean_plainly(config: CleanConfig, raw: Path, folder: Path) -> CleanReport:
    """What `clean_corpus` writes and reports, pair by pair in one process."""
    counts = dict.fromkeys(REASONS, 0)
    samples = {reason: Sample(config.num_reject_samples, Random(config.seed)) for reason in REASONS}
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
            config, (pair for part in held_out for pair in read_pairs(part_path(temporary, part)))
        )
        augment = None
        if config.augment is not None:
            normalize = partial(normalize_side, config=config.source)
            augment = Augmenter(config.augment, config.seed, normalize, filters)
        with PairWriter(part_path(temporary, "train")) as writer:
            for read, pair in enumerate(read_pairs(part_path(raw, "train")), start=1):
                outcomes = clean_pair(pair, config, filters)
                for sentence, (candidate, cleaned, reason) in enumerate(outcomes):
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
                        writer.write(cleaned)
                    else:
                        counts[reason] += 1
                        samples[reason].offer(Reject(read, reason, *candidate))
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
