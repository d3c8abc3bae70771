"""Fitting tokenizers on training text."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from transformer.batches import batched
from transformer.compute.shards import map_shards
from transformer.text.casing import MARKS_PATTERN, mark_case
from transformer.text.chunks import ChunkCounts
from transformer.text.pieces import BETWEEN_SPACES, CHARACTERS, MARKED_PIECES, PIECES
from transformer.text.scripts import UNSPACED
from transformer.text.shards import Shard, cut_shards, read_columns, sample_lines
from transformer.text.special_tokens import SPECIAL_TOKENS, UNK
from transformer.text.tokenizer import Tokenizer, TokenizerPair
from transformer.text.vocab_config import (
    BpeSpec,
    CharacterSpec,
    PretrainedSpec,
    TokenizerSpec,
    UnigramSpec,
    VocabConfig,
    WordSpec,
)

_BATCH_PIECES = 8192
_FittedSpec = BpeSpec | UnigramSpec | WordSpec | CharacterSpec


def fit_pair(config: VocabConfig, train: Path) -> TokenizerPair:
    """Fits the tokenizers that a config asks for on a training part's Parquet file.

    Raises:
        ValueError: the file is missing, or as `fit_tokenizer` does.
    """
    fit = partial(_fit_columns, train, config.max_sentences)
    if config.joint is not None:
        joint = fit(config.joint, "source", "target")
        return TokenizerPair(joint, joint)
    assert config.source is not None, "the config holds joint, or both sides"
    assert config.target is not None, "the config holds joint, or both sides"
    return TokenizerPair(fit(config.source, "source"), fit(config.target, "target"))


def fit_tokenizer(spec: TokenizerSpec, texts: Iterable[str]) -> Tokenizer:
    """Fits a tokenizer on normalised text; a pretrained one is fetched, and sees no text.

    The same text gives the same tokenizer, byte for byte, whatever the number of threads.
    `decode(encode(text)) == text` for every normalised text (kinds `word` and `character`: every
    one without unknowns).

    Raises:
        ValueError: a pretrained tokenizer can't be had, or lacks special tokens.
    """
    return _fetch(spec) if isinstance(spec, PretrainedSpec) else _fit(spec, ChunkCounts.of(texts))


class _Sample(NamedTuple):
    shard: Shard
    lines: NDArray[np.int64] | None  # None: all

    def __str__(self) -> str:
        return str(self.shard)


def count_shard(columns: Sequence[str], sample: _Sample) -> ChunkCounts:
    """Counts the chunks of some columns of a shard."""
    batches = read_columns(sample.shard, *columns, lines=sample.lines)
    return ChunkCounts.of(text for batch in batches for column in batch for text in column)


def _fit_columns(
    train: Path, max_sentences: int | None, spec: TokenizerSpec, *columns: str
) -> Tokenizer:
    if isinstance(spec, PretrainedSpec):
        return _fetch(spec)
    counts = ChunkCounts.of([])
    samples = _sample(cut_shards(train), max_sentences)
    for some in map_shards(partial(count_shard, columns), samples):
        counts.add(some)
    return _fit(spec, counts)


def _sample(shards: Sequence[Shard], max_sentences: int | None) -> list[_Sample]:
    num_lines = sum(len(shard.lines) for shard in shards)
    if max_sentences is None or max_sentences >= num_lines:
        return [_Sample(shard, None) for shard in shards]
    lines = sample_lines(num_lines, max_sentences)
    ends = np.searchsorted(lines, [shard.lines.stop for shard in shards])
    return [_Sample(*one) for one in zip(shards, np.split(lines, ends[:-1]), strict=True)]


def _fit(spec: _FittedSpec, counts: ChunkCounts) -> Tokenizer:
    match spec:
        case BpeSpec():
            return _fit_bpe(spec, counts)
        case UnigramSpec():
            return _fit_unigram(spec, counts)
        case WordSpec():
            return _fit_words(spec, counts)
        case CharacterSpec():
            return _fit_characters(spec, counts)


def _train(fast: Any, trainer: Any, counts: ChunkCounts, *, marked: bool = False) -> None:
    """Trains a tokenizer as if on the texts whose chunks were counted.

    The library counts pieces itself and takes no counts: so each piece is given to it as often as
    it stood in a text, but already cut, which takes a fraction of the time.
    """
    normalizer, pre_tokenizer = fast.normalizer, fast.pre_tokenizer
    prepare = mark_case if marked else str
    pieces: Counter[str] = Counter()
    for chunk, count in counts.first.items():
        text = prepare(chunk)
        for piece, _ in pre_tokenizer.pre_tokenize_str(
            text if normalizer is None else normalizer.normalize_str(text)
        ):
            pieces[piece] += count
    for chunk, count in counts.later.items():
        for piece, _ in pre_tokenizer.pre_tokenize_str(prepare(" " + chunk)):
            pieces[piece] += count
    # Equal pieces side by side: the library merges the counts of texts with few different ones
    # quickly. Normalised text holds no line end.
    ordered = sorted(pieces.items())
    repeated = chain.from_iterable(repeat(piece, count) for piece, count in ordered)
    fast.normalizer = None
    fast.pre_tokenizer = pre_tokenizers.CharDelimiterSplit("\n")
    fast.train_from_iterator(map("\n".join, batched(repeated, _BATCH_PIECES)), trainer)
    fast.normalizer, fast.pre_tokenizer = normalizer, pre_tokenizer


def _fit_bpe(spec: BpeSpec, counts: ChunkCounts) -> Tokenizer:
    fast = _over_bytes(models.BPE(), marked=spec.mark_case)
    trainer = trainers.BpeTrainer(
        vocab_size=spec.size,
        min_frequency=spec.min_frequency,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    _train(fast, trainer, counts, marked=spec.mark_case)
    return Tokenizer(fast.to_str(pretty=True))


def _fit_unigram(spec: UnigramSpec, counts: ChunkCounts) -> Tokenizer:
    fast = _over_bytes(models.Unigram(), marked=spec.mark_case)
    trainer = trainers.UnigramTrainer(
        vocab_size=spec.size,
        special_tokens=list(SPECIAL_TOKENS),
        unk_token=UNK,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    _train(fast, trainer, counts, marked=spec.mark_case)
    value: dict[str, Any] = json.loads(fast.to_str())
    value["model"]["vocab"] = settle_unigram(value["model"]["vocab"])
    return Tokenizer(json.dumps(value, ensure_ascii=False, indent=2))


def settle_unigram(vocabulary: list[list[Any]]) -> list[list[Any]]:
    """Brings a unigram vocabulary into one order, with scores that repeat from fit to fit.

    The library adds up probabilities in the order of a randomly seeded hash map: the last digits
    differ from run to run (tokenizers#762). Bytes that it adds for completeness get scores just
    above the lowest, in that order too. Here the former are rounded and the latter made equal.

    Args:
        vocabulary: [piece, log-probability] rows, the special tokens first.
    """
    special, rows = vocabulary[: len(SPECIAL_TOKENS)], vocabulary[len(SPECIAL_TOKENS) :]
    lowest = min(score for _, score in rows)
    # The library's steps between added bytes are 1e-4.
    ceiling = lowest + 1e-4 * (1 + sum(len(piece) == 1 for piece, _ in rows))
    settled = [
        [piece, round(lowest if len(piece) == 1 and score <= ceiling else score, 5)]
        for piece, score in rows
    ]
    return special + sorted(settled, key=lambda row: (-row[1], row[0]))


def _fit_words(spec: WordSpec, counts: ChunkCounts) -> Tokenizer:
    fast = _empty(models.WordLevel({UNK: 1}, unk_token=UNK))
    if spec.boundary == "space":
        fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(BETWEEN_SPACES), "isolated")
    # A word carries the space before it; an unknown one does not tell, and mostly had one.
    fast.decoder = decoders.Sequence(
        [decoders.Replace(UNK, " " + UNK), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return _fit_word_level(fast, spec, counts)


def _fit_characters(spec: CharacterSpec, counts: ChunkCounts) -> Tokenizer:
    fast: Any = tokenizers.Tokenizer(models.WordLevel({UNK: 1}, unk_token=UNK))
    fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(CHARACTERS), "isolated")
    fast.decoder = decoders.Fuse()
    return _fit_word_level(fast, spec, counts)


def _fit_word_level(fast: Any, spec: WordSpec | CharacterSpec, counts: ChunkCounts) -> Tokenizer:
    trainer = trainers.WordLevelTrainer(
        vocab_size=spec.size,
        min_frequency=spec.min_frequency,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    _train(fast, trainer, counts)
    return Tokenizer(fast.to_str(pretty=True))


def _fetch(spec: PretrainedSpec) -> Tokenizer:
    path = Path(spec.name)
    if path.is_file():
        return Tokenizer.load(path)
    if path.suffix == ".json":
        raise ValueError(f"vocab: name = {spec.name}: no such tokenizer file")
    revision = "main" if spec.revision is None else spec.revision
    try:
        fast = tokenizers.Tokenizer.from_pretrained(spec.name, revision=revision)
    except Exception as error:  # the library raises bare Exception
        raise ValueError(
            f"vocab: the tokenizer {spec.name!r} at revision {revision!r} can't be fetched from "
            f"the Hugging Face Hub: {error}. Without a network, set name to a tokenizer.json"
        ) from error
    return Tokenizer(fast.to_str(pretty=True), spec.name)


def _empty(model: Any, *, marked: bool = False) -> Any:
    fast: Any = tokenizers.Tokenizer(model)
    # The first word gets a space too, so it is the same word as in the middle of a text: there
    # one stands before it, but in scripts without spaces. Behind a mark it has one already.
    bare = UNSPACED + (MARKS_PATTERN if marked else "")
    fast.normalizer = normalizers.Sequence(
        [
            normalizers.Prepend(" "),
            normalizers.Replace(tokenizers.Regex(rf"\A (?=[{bare}])"), ""),
        ]
    )
    pieces = MARKED_PIECES if marked else PIECES
    fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(pieces), "isolated")
    return fast


def _over_bytes(model: Any, *, marked: bool) -> Any:
    fast = _empty(model, marked=marked)
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [fast.pre_tokenizer, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    fast.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return fast
