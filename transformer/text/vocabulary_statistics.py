"""How well a tokenizer fits a text."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from transformer.batches import batched
from transformer.text.chunks import ChunkEncoder
from transformer.text.corpus import part_path, read_side
from transformer.text.tokenizer import Tokenizer, TokenizerPair

_BATCH_TEXTS = 8192
# Of a part, so many pairs are described: more take as long as fitting and change no figure much.
MAX_PAIRS = 50_000


@dataclass(frozen=True)
class TextStatistics:
    """How a tokenizer takes a text. Shares are between 0 and 1."""

    words: int
    pieces: int
    pieces_per_word: float
    # Of pieces that are unknown.
    unknown_rate: float
    # Of words between spaces that hold no unknown piece.
    coverage: float
    # Of vocabulary entries that occur.
    vocabulary_used: float


def describe(tokenizer: Tokenizer, texts: Iterable[str]) -> TextStatistics:
    """Statistics of a tokenizer on normalised text, rounded to six digits."""
    words = pieces = unknown = unknown_words = 0
    used: set[int] = set()
    encoder = ChunkEncoder(tokenizer, "=u4")
    for batch in batched(texts, _BATCH_TEXTS):
        for text, encoded in zip(batch, encoder.encode_batch(batch), strict=True):
            ids = memoryview(encoded).cast("I")
            words += len(text.split())
            pieces += len(ids)
            used.update(ids)
            if tokenizer.unk_id in ids:
                spans = tokenizer.unknown_spans(text)
                unknown += len(spans)
                # A piece may hold the space before its word; its end stands in the word.
                unknown_words += len({text.count(" ", 0, end) for _, end in spans})
    return TextStatistics(
        words=words,
        pieces=pieces,
        pieces_per_word=round(pieces / max(words, 1), 6),
        unknown_rate=round(unknown / max(pieces, 1), 6),
        coverage=round(1 - unknown_words / max(words, 1), 6),
        vocabulary_used=round(len(used) / tokenizer.size, 6),
    )


def describe_pair(tokenizers: TokenizerPair, clean: Path) -> dict[str, Any]:
    """Statistics of both sides on the parts train (its first MAX_PAIRS) and valid in `clean`."""
    sides = {"source": tokenizers.source, "target": tokenizers.target}
    return {"joint": tokenizers.is_joint} | {
        side: {"size": tokenizer.size}
        | {
            part: asdict(
                describe(tokenizer, islice(read_side(part_path(clean, part), side), MAX_PAIRS))
            )
            for part in ("train", "valid")
        }
        for side, tokenizer in sides.items()
    }
