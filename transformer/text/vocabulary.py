"""Fitting tokenizers on training text."""

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from transformer.batches import batched
from transformer.text.casing import MARKS_PATTERN, mark_case
from transformer.text.corpus import read_side
from transformer.text.scripts import SPACED, UNSPACED
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

_BATCH_TEXTS = 8192
# A text falls into words, digits and signs, each with the space before it. An apostrophe stays
# with the word before it; what follows does too when it is short: "l'|homme", "d'un", "don't".
# In a script without spaces the text up to the next sign counts as one word.
_PIECES = (
    rf" ?{SPACED}+(?:['’]{SPACED}{{1,2}}(?!{SPACED}))*(?:['’](?={SPACED}))?"
    rf"| ?[{UNSPACED}]+"
    r"| ?\p{N}"
    r"| ?([^\s\p{L}\p{M}\p{N}])\1*"  # a run of one sign, such as an ellipsis
    r"|\s"
)
# The same where capitals are marked: "d'" stays a word before a mark. A mark counts as a sign.
_MARKED_PIECES = _PIECES.replace(f"(?={SPACED})", f"(?={MARKS_PATTERN}?{SPACED})")


def fit_pair(config: VocabConfig, train: Path) -> TokenizerPair:
    """Fits the tokenizers that a config asks for on a training part's Parquet file.

    Raises:
        ValueError: the file is missing, or as `fit_tokenizer` does.
    """
    if config.joint is not None:
        joint = fit_tokenizer(
            config.joint, chain(read_side(train, "source"), read_side(train, "target"))
        )
        return TokenizerPair(joint, joint)
    assert config.source is not None, "the config holds joint, or both sides"
    assert config.target is not None, "the config holds joint, or both sides"
    return TokenizerPair(
        fit_tokenizer(config.source, read_side(train, "source")),
        fit_tokenizer(config.target, read_side(train, "target")),
    )


def fit_tokenizer(spec: TokenizerSpec, texts: Iterable[str]) -> Tokenizer:
    """Fits a tokenizer on normalised text; a pretrained one is fetched, and sees no text.

    The same text gives the same tokenizer, byte for byte, whatever the number of threads.
    `decode(encode(text)) == text` for every normalised text (kinds `word` and `character`: every
    one without unknowns).

    Raises:
        ValueError: a pretrained tokenizer can't be had, or lacks special tokens.
    """
    match spec:
        case BpeSpec():
            return _fit_bpe(spec, texts)
        case UnigramSpec():
            return _fit_unigram(spec, texts)
        case WordSpec():
            return _fit_words(spec, texts)
        case CharacterSpec():
            return _fit_characters(spec, texts)
        case PretrainedSpec():
            return _fetch(spec)


def _fit_bpe(spec: BpeSpec, texts: Iterable[str]) -> Tokenizer:
    fast = _over_bytes(models.BPE(), marked=spec.mark_case)
    trainer = trainers.BpeTrainer(
        vocab_size=spec.size,
        min_frequency=spec.min_frequency,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    fast.train_from_iterator(batched(_as_fitted(spec, texts), _BATCH_TEXTS), trainer)
    return Tokenizer(fast.to_str(pretty=True))


def _fit_unigram(spec: UnigramSpec, texts: Iterable[str]) -> Tokenizer:
    fast = _over_bytes(models.Unigram(), marked=spec.mark_case)
    trainer = trainers.UnigramTrainer(
        vocab_size=spec.size,
        special_tokens=list(SPECIAL_TOKENS),
        unk_token=UNK,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    fast.train_from_iterator(batched(_as_fitted(spec, texts), _BATCH_TEXTS), trainer)
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


def _fit_words(spec: WordSpec, texts: Iterable[str]) -> Tokenizer:
    fast = _empty(models.WordLevel({UNK: 1}, unk_token=UNK))
    if spec.boundary == "space":
        fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r" ?[^ ]+| "), "isolated")
    # A word carries the space before it; an unknown one does not tell, and mostly had one.
    fast.decoder = decoders.Sequence(
        [decoders.Replace(UNK, " " + UNK), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return _fit_word_level(fast, spec, texts)


def _fit_characters(spec: CharacterSpec, texts: Iterable[str]) -> Tokenizer:
    fast: Any = tokenizers.Tokenizer(models.WordLevel({UNK: 1}, unk_token=UNK))
    fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    fast.decoder = decoders.Fuse()
    return _fit_word_level(fast, spec, texts)


def _fit_word_level(fast: Any, spec: WordSpec | CharacterSpec, texts: Iterable[str]) -> Tokenizer:
    trainer = trainers.WordLevelTrainer(
        vocab_size=spec.size,
        min_frequency=spec.min_frequency,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    fast.train_from_iterator(batched(texts, _BATCH_TEXTS), trainer)
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


def _as_fitted(spec: BpeSpec | UnigramSpec, texts: Iterable[str]) -> Iterable[str]:
    return map(mark_case, texts) if spec.mark_case else texts


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
    pieces = _MARKED_PIECES if marked else _PIECES
    fast.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(pieces), "isolated")
    return fast


def _over_bytes(model: Any, *, marked: bool) -> Any:
    fast = _empty(model, marked=marked)
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [fast.pre_tokenizer, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    fast.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return fast
