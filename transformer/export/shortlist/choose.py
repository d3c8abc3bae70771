"""Vocabulary short-lists: the few target tokens among which a sentence's translation is looked for.

The last product of each step, over the whole target vocabulary, costs about as much as a layer.
Most of its results are never near the top: what can translate a sentence are the tokens that its
own tokens translate to in the training text, and the most frequent ones (Jean et al. 2015,
arXiv:1412.2007, section 3.3, take the same two).

Each sentence chooses among its own tokens, whatever stands beside it in the batch; the product is
computed for the union over the batch, and the others' tokens are masked.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from transformer.export.config import ShortlistConfig
from transformer.text.lexicon import Lexicon
from transformer.text.pairs import Integers

# A translation of less probability is an accident of the training.
MIN_PROBABILITY = 1e-4


class Shortlist(NamedTuple):
    """Target tokens that any sentence may use, and those that a source token brings along."""

    frequent: Integers  # [F], rising
    by_source: Integers  # [source vocabulary, K], the likeliest first; a free place repeats `fill`


def make_shortlist(
    lexicon: Lexicon,
    config: ShortlistConfig,
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    special: Sequence[int],
    is_joint: bool,
) -> Shortlist | None:
    """The short-lists of a corpus; None where the frequent tokens are the whole vocabulary.

    Args:
        lexicon: of the training text.
        config: how many tokens.
        source_vocab_size: of the ids of the source.
        target_vocab_size: likewise.
        special: ids that must never be missing from the target side, the end token last.
        is_joint: source and target share a vocabulary.
    """
    if config.num_frequent >= target_vocab_size:
        return None
    kept: dict[str, Any] = {"always": list(special), "fill": special[-1]}
    return choose_words(lexicon, source_vocab_size, config, **kept, is_joint=is_joint)


def choose_words(
    lexicon: Lexicon,
    source_vocab_size: int,
    config: ShortlistConfig,
    *,
    always: list[int],
    fill: int,
    is_joint: bool,
) -> Shortlist:
    """The short-lists of a lexicon.

    Args:
        lexicon: of the training text.
        source_vocab_size: of the model.
        config: how many tokens.
        always: the special tokens, and others that must never be missing.
        fill: a token of `always`.
        is_joint: source and target share a vocabulary: then a source token may stay what it is,
            as parts of names do.
    """
    order = np.argsort(-lexicon.target_counts, kind="stable")[: config.num_frequent]
    frequent = np.union1d(order, always).astype(np.int64)
    table = np.full((source_vocab_size, config.num_per_token), fill, dtype=np.int64)
    if is_joint:
        table[:, -1] = np.arange(source_vocab_size)
    best = np.lexsort((-lexicon.probability, lexicon.source))
    source = lexicon.source[best]
    rank = np.arange(len(best)) - np.searchsorted(source, source)
    room = config.num_per_token - is_joint
    kept = (rank < room) & (lexicon.probability[best] >= MIN_PROBABILITY)
    table[source[kept], rank[kept]] = lexicon.target[best][kept]
    return Shortlist(frequent, table)
