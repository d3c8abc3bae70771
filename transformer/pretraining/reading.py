"""The sentences to pretrain on, as ids without special tokens."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from transformer.batches import batched
from transformer.pretraining.config import MonolingualFiles
from transformer.pretraining.tasks import Text
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.ids import Ids
from transformer.text.monolingual import find_file
from transformer.text.normalize import normalize
from transformer.text.pairs import Integers, PairDataset
from transformer.text.sources.lines import read_lines
from transformer.text.tokenizer import Tokenizer, TokenizerPair

# Lines that are tokenized at once.
_BATCH_LINES = 8192


def read_text(
    folder: Path,
    files: MonolingualFiles,
    ids: Ids,
    clean: CleanConfig,
    tokenizers: TokenizerPair,
) -> tuple[Text, Text]:
    """Training and validation sentences of both sides.

    A file is normalised as its side is; where there is none, the side of the training pairs is
    read. Validation is on the sides of the validation pairs.

    Args:
        folder: where the files lie.
        files: their names.
        ids: of the pairs.
        clean: how a side's text is normalised.
        tokenizers: of both sides.

    Raises:
        ValueError: a file is missing, or a line is not UTF-8.
    """
    sides = {}
    for side in ("source", "target"):
        file: str | None = getattr(files, side)
        if file is None:
            sides[side] = _sentences(ids.train, side)
        else:
            otherwise = ", or set it to null for that side of the training pairs"
            path = find_file(folder, file, f"pretrain.text.{side}", otherwise)
            tokenizer: Tokenizer = getattr(tokenizers, side)
            sides[side] = list(_encode(path, getattr(clean, side), tokenizer))
    return Text(**sides), Text(_sentences(ids.valid, "source"), _sentences(ids.valid, "target"))


def _sentences(pairs: PairDataset, side: str) -> list[Integers]:
    """One side of a split, without the end tokens."""
    sentence = getattr(pairs, side)
    return [sentence(index)[:-1].astype(np.int64) for index in range(len(pairs))]


def _encode(path: Path, config: NormalizationConfig, tokenizer: Tokenizer) -> Iterator[Integers]:
    texts = (normalize(line, **dict(config)) for line in read_lines(path))
    for batch in batched(texts, _BATCH_LINES):
        for ids in tokenizer.encode_batch(batch):
            yield np.array(ids, dtype=np.int64)
