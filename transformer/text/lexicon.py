"""Which target tokens may translate a source token: IBM Model 1.

The model (Brown et al. 1993, "The Mathematics of Statistical Machine Translation", section 4.1)
explains each target token by one token of the source sentence, or by none, wherever they stand:
p(t | sentence) is the mean of p(t | s) over its source tokens s. A few rounds of expectation
maximisation over the training pairs find p(t | s).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.text.pairs import Integers, PairDataset

NUM_ROUNDS = 5
# Sentences evenly spaced over the corpus; some ten million pairs of tokens fit into memory.
MAX_SENTENCES = 50_000


class Lexicon(NamedTuple):
    """p(t | s) for the pairs of tokens that stand together in some sentence; sorted by source."""

    source: Integers  # [number of pairs]
    target: Integers  # likewise
    probability: NDArray[np.float64]  # likewise
    source_counts: Integers  # [V], how often each source token occurs in the sample
    target_counts: Integers  # likewise


def fit_lexicon(pairs: PairDataset, source_vocab_size: int, target_vocab_size: int) -> Lexicon:
    """The lexicon of a corpus; the same corpus gives the same bits.

    Args:
        pairs: token ids of the training text, end tokens included.
        source_vocab_size: of the ids of the source.
        target_vocab_size: likewise.
    """
    num_sentences = len(pairs.source_offsets) - 1
    step = -(-num_sentences // MAX_SENTENCES)
    rows = np.arange(0, num_sentences, step)
    source, source_lengths = _gather(pairs.source_ids, pairs.source_offsets, rows)
    target, target_lengths = _gather(pairs.target_ids, pairs.target_offsets, rows)
    # Every target token beside every token of its source sentence, then beside none.
    lengths = np.repeat(source_lengths, target_lengths)
    places = np.repeat(np.arange(len(target)), lengths)
    starts = np.repeat(np.cumsum(source_lengths) - source_lengths, target_lengths)
    offsets = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    beside = source[np.repeat(starts, lengths) + offsets]
    places = np.concatenate([places, np.arange(len(target))])
    beside = np.concatenate([beside, np.full(len(target), source_vocab_size)])
    sources, targets, index = _number_pairs(
        beside.astype(np.min_scalar_type(source_vocab_size)),
        target[places].astype(np.min_scalar_type(target_vocab_size)),
    )
    probability = np.ones(len(sources))
    for _ in range(NUM_ROUNDS):
        weights = probability[index]
        total = np.bincount(places, weights, len(target))
        counts = np.bincount(index, weights / total[places], len(sources))
        probability = counts / np.bincount(sources, counts, source_vocab_size + 1)[sources]
    is_word = sources < source_vocab_size
    return Lexicon(
        sources[is_word],
        targets[is_word],
        probability[is_word],
        np.bincount(source, minlength=source_vocab_size),
        np.bincount(target, minlength=target_vocab_size),
    )


def _number_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Integers, ...]:
    # The distinct pairs, sorted, and where among them each pair is: `np.unique` of both, several
    # times as fast, since numpy sorts integers of 16 bits by their digits.
    order = np.lexsort((second, first))
    first_sorted, second_sorted = first[order], second[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(first_sorted) != 0) | (np.diff(second_sorted) != 0)
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return first_sorted[is_new].astype(np.int64), second_sorted[is_new].astype(np.int64), index


def _gather(ids: NDArray[np.generic], offsets: Integers, rows: Integers) -> tuple[Integers, ...]:
    # The ids of some sentences one after the other, and their lengths.
    starts, ends = np.asarray(offsets)[rows], np.asarray(offsets)[rows + 1]
    lengths = ends - starts
    first = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return np.asarray(ids)[first + np.arange(lengths.sum())].astype(np.int64), lengths
