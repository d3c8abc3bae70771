"""The clean corpus as token ids: data/ids, in the form of `transformer.text.ids`."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.compute.shards import map_shards
from transformer.text.chunks import ChunkEncoder
from transformer.text.corpus import part_path
from transformer.text.ids import SIDES, IdsMeta, SplitCounts, hash_files
from transformer.text.shards import Shard, cut_shards, read_columns
from transformer.text.tokenizer import Tokenizer, TokenizerPair


class _Side(NamedTuple):
    ids: bytes  # of all sentences, each closed by its end token
    lengths: NDArray[np.int64]  # [N], in tokens


class TokenizedShard(NamedTuple):
    """The pairs of a shard that are not too long."""

    sides: tuple[_Side, _Side]
    num_dropped: int


def write_corpus_ids(
    clean: Path, folder: Path, tokenizers: TokenizerPair, max_tokens: int
) -> IdsMeta:
    """Tokenizes training and validation text into `folder`, which exists, shard by shard.

    Args:
        clean: what the stage `clean` wrote.
        folder: where the files go.
        tokenizers: their larger vocabulary sets the width of an id, 16 or 32 bits.
        max_tokens: the longest training sequence kept, its end token included. No validation pair
            is dropped.

    Raises:
        ValueError: a split ends up without pairs.
    """
    largest = max(tokenizers.source.size, tokenizers.target.size)
    dtype: Literal["<u2", "<u4"] = "<u2" if largest <= 1 << 16 else "<u4"
    counts = {}
    for split, limit in (("train", max_tokens), ("valid", None)):
        jsons = tokenizers.source.json, tokenizers.target.json
        shards = cut_shards(part_path(clean, split))
        tokenized = map_shards(partial(tokenize_shard, jsons, dtype, limit), shards)
        counts[split] = _write_split(folder, split, tokenized)
    for split, count in counts.items():
        if not count.pairs:
            raise ValueError(
                f"split {split!r} has no pairs left: {count.dropped_too_long} were longer than "
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


def tokenize_shard(
    jsons: tuple[str, str], dtype: str, max_tokens: int | None, shard: Shard
) -> TokenizedShard:
    """Tokenizes a shard of clean pairs.

    Args:
        jsons: the text of each side's `tokenizer.json`.
        dtype: of the ids.
        max_tokens: the longest sequence kept, its end token included; None keeps all.
        shard: which.
    """
    encoders = [_load(json, dtype) for json in jsons]
    sentences: tuple[list[bytes], list[bytes]] = [], []
    num_read = 0
    item = np.dtype(dtype).itemsize
    limit = None if max_tokens is None else max_tokens * item
    for columns in read_columns(shard, *SIDES):
        encoded = [
            [ids + eos for ids in encoder.encode_batch(texts)]
            for (encoder, eos), texts in zip(encoders, columns, strict=True)
        ]
        for pair in zip(*encoded, strict=True):
            num_read += 1
            if limit is None or max(map(len, pair)) <= limit:
                for side, ids in zip(sentences, pair, strict=True):
                    side.append(ids)
    sides = [
        _Side(b"".join(side), np.fromiter(map(len, side), np.int64, len(side)) // item)
        for side in sentences
    ]
    return TokenizedShard((sides[0], sides[1]), num_read - len(sentences[0]))


@lru_cache(maxsize=2)
def _load(json: str, dtype: str) -> tuple[ChunkEncoder, bytes]:
    # With the end token. A worker remembers chunks from one shard to the next.
    tokenizer = Tokenizer(json)
    return ChunkEncoder(tokenizer, dtype), np.array([tokenizer.eos_id], dtype=dtype).tobytes()


def _write_split(folder: Path, split: str, shards: Iterable[TokenizedShard]) -> SplitCounts:
    dropped = 0
    with ExitStack() as stack:
        writers = [_SideWriter(stack, folder, f"{split}.{side}") for side in SIDES]
        for shard in shards:
            dropped += shard.num_dropped
            for writer, side in zip(writers, shard.sides, strict=True):
                writer.append(side)
    source, target = writers
    return SplitCounts(
        pairs=source.num_sentences,
        dropped_too_long=dropped,
        source_tokens=source.num_tokens,
        target_tokens=target.num_tokens,
        longest_source=source.longest,
        longest_target=target.longest,
    )


class _SideWriter:
    """Appends sentences to one side's two files."""

    def __init__(self, stack: ExitStack, folder: Path, name: str) -> None:
        self._ids: IO[bytes] = stack.enter_context((folder / f"{name}.bin").open("wb"))
        self._offsets: IO[bytes] = stack.enter_context((folder / f"{name}.offsets.bin").open("wb"))
        self._offsets.write(np.zeros(1, dtype="<i8").tobytes())
        self.num_sentences = self.num_tokens = self.longest = 0

    def append(self, side: _Side) -> None:
        """Writes the sentences of a shard."""
        self._ids.write(side.ids)
        ends: NDArray[Any] = self.num_tokens + np.cumsum(side.lengths)
        self._offsets.write(ends.astype("<i8").tobytes())
        self.num_sentences += len(side.lengths)
        self.num_tokens += int(side.lengths.sum())
        self.longest = max(self.longest, int(side.lengths.max(initial=0)))
