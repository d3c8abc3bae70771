"""Training pairs whose words are cut into other pieces in each epoch."""

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.text.ids import Ids
from transformer.text.pairs import Integers, PairDataset
from transformer.text.segmentation import Segment, bpe_dropout, unigram_sampling
from transformer.text.segmentation_config import SegmentationConfig
from transformer.text.tokenizer import Tokenizer, TokenizerPair

# So many segmentations of each word are drawn before the first step; an epoch chooses among them.
_NUM_VARIANTS = 16
# Runs of more pieces, such as a line without spaces, stay as they are.
_MOST_PIECES = 16
# What opens a word, in the alphabets of byte-level and SentencePiece's vocabularies.
_OPENS_A_WORD = ("Ġ", "▁", " ")


class Resegmentation:
    """The training pairs of each epoch, from (seed, epoch) alone; it fits in memory.

    A word is a run of pieces of which only the first begins with a space. Each occurrence takes
    one of `_NUM_VARIANTS` segmentations of its word. A sentence that would grow beyond the longest
    that training takes stays as it was.
    """

    def __init__(
        self, config: SegmentationConfig, ids: Ids, tokenizers: TokenizerPair, seed: int
    ) -> None:
        """Draws the segmentations of all words: about 20 µs for each of them.

        Args:
            config: which are drawn.
            ids: what is trained on.
            tokenizers: that made them.
            seed: of all draws.

        Raises:
            ValueError: the tokenizers are of another kind than the config asks for, or others
                than those that made the ids.
        """
        if tokenizers.sha256 != ids.meta.tokenizer_sha256:
            raise ValueError("models/tokenizer did not make data/ids; run `tokenize` again")
        self._seed, self._limit = seed, ids.meta.max_tokens
        train = ids.train
        sides = (
            (tokenizers.source, train.source_ids, train.source_offsets),
            (tokenizers.target, train.target_ids, train.target_offsets),
        )
        self._sides = [
            _Side(tokenizer, _segment(config, tokenizer), values, offsets, seed)
            for tokenizer, values, offsets in sides
        ]

    def __call__(self, epoch: int) -> PairDataset:
        """The pairs of one epoch, counted from 0, in the order of the usual ones."""
        generator = np.random.default_rng([self._seed, epoch])
        return _EpochPairs(*(side.draw(generator, self._limit) for side in self._sides))


class _EpochPairs(PairDataset):
    def __init__(
        self, source: tuple[NDArray[Any], Integers], target: tuple[NDArray[Any], Integers]
    ) -> None:
        self.source_ids, self.source_offsets = source
        self.target_ids, self.target_offsets = target


class _Side:
    """One side's words, each by its number, and the segmentations of each."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        segment: Segment,
        ids: NDArray[Any],
        offsets: NDArray[Any],
        seed: int,
    ) -> None:
        ids, offsets = np.asarray(ids), np.asarray(offsets)
        tokens = [tokenizer.token(id) for id in range(tokenizer.size)]
        opens = np.array([token.startswith(_OPENS_A_WORD) for token in tokens])
        special = np.zeros(tokenizer.size, dtype=bool)
        special[[id for id in tokenizer.special if id < tokenizer.size]] = True
        begins = opens[ids] | special[ids]
        begins[offsets[:-1]] = True
        bounds = np.append(np.flatnonzero(begins), len(ids))
        raw, numbers = ids.tobytes(), dict[bytes, int]()
        edges = (bounds * ids.itemsize).tolist()
        self._words = np.array(
            [numbers.setdefault(raw[begin:end], len(numbers)) for begin, end in pairwise(edges)]
        )
        self._sentences = np.searchsorted(bounds, offsets)  # where each begins, in words

        variants: list[list[int]] = []
        for word in numbers:
            usual = np.frombuffer(word, ids.dtype).tolist()
            is_fixed = len(usual) > _MOST_PIECES or special[usual].any()
            text = "".join(tokens[id] for id in usual)
            draw = Random(f"{seed} {text}")
            others = range(1, _NUM_VARIANTS)
            variants += [usual, *(usual if is_fixed else segment(text, draw) for _ in others)]
        self._lengths = np.array([len(variant) for variant in variants])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._ids = np.array([id for variant in variants for id in variant], dtype=ids.dtype)

    def draw(self, generator: np.random.Generator, limit: int) -> tuple[NDArray[Any], Integers]:
        """The ids of all sentences, with the offsets of each."""
        choice = generator.integers(_NUM_VARIANTS, size=len(self._words))
        counts = np.diff(self._sentences)
        chosen = self._words * _NUM_VARIANTS + choice
        too_long = self._sum(chosen) > limit
        chosen = np.where(np.repeat(too_long, counts), self._words * _NUM_VARIANTS, chosen)
        offsets = np.append(0, np.cumsum(self._sum(chosen)))
        lengths = self._lengths[chosen]
        # Each id's place in the table: its word's start, and how far within it.
        begins = np.repeat(self._starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
        return self._ids[begins + np.arange(len(begins))], offsets

    def _sum(self, chosen: Integers) -> Integers:
        """The length of each sentence."""
        return np.add.reduceat(self._lengths[chosen], self._sentences[:-1])


def _segment(config: SegmentationConfig, tokenizer: Tokenizer) -> Segment:
    if config.kind == "bpe_dropout":
        return bpe_dropout(tokenizer, config.probability)
    return unigram_sampling(tokenizer, config.alpha)
