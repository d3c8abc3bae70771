"""Span corruption, for an encoder-decoder (Raffel et al. 2020, arXiv:1910.10683, section 3.1.4).

Runs of tokens are cut out of a sentence, a sentinel stands for each, and the decoder is to write
each sentinel with what it stands for:

    source  thank you <x> me to your party <y> .     target  <x> for inviting <y> last week
"""

from typing import NamedTuple

import numpy as np

from transformer.text.pairs import Integers


class Corruption(NamedTuple):
    """A sentence with gaps, and what fills them; no end tokens."""

    source: Integers
    target: Integers


def corrupt_spans(
    ids: Integers,
    sentinels: Integers,
    generator: np.random.Generator,
    *,
    noise_density: float,
    mean_span_length: float,
) -> Corruption:
    """Cuts spans out of a sentence.

    As many tokens go as `noise_density` says, one at least, in as many spans as
    `mean_span_length` then asks for:
    their number is certain, their lengths and places are drawn. Spans do not touch. Other than in
    the paper's code, a sentence may begin with a span, and need not end with one.

    Args:
        ids: int64 [L], without special tokens; one token at least.
        sentinels: ids that stand in no text, the first for the first span; spans that are more
            than these are merged into fewer.
        generator: of the draws.
        noise_density: of the tokens that go, in (0, 1).
        mean_span_length: tokens a span, 1 or more.

    Raises:
        ValueError: the sentence is empty, there are no sentinels, or a setting is out of range.
    """
    _check(ids, sentinels, noise_density, mean_span_length)
    num_cut = min(max(1, round(len(ids) * noise_density)), max(1, len(ids) - 1))
    num_kept = len(ids) - num_cut
    # Between two spans stands a token at least.
    num_spans = min(
        max(1, round(num_cut / mean_span_length)), num_kept + 1, num_cut, len(sentinels)
    )
    cut = _compose(num_cut, num_spans, generator)
    # The gaps at both ends may be empty: they are drawn one longer each.
    kept = _compose(num_kept + 2, num_spans + 1, generator)
    kept[[0, -1]] -= 1
    source: list[Integers] = []
    target: list[Integers] = []
    at = 0
    for before, span, sentinel in zip(kept, cut, np.split(sentinels, len(sentinels)), strict=False):
        source += [ids[at : at + before], sentinel]
        target += [sentinel, ids[at + before : at + before + span]]
        at += before + span
    source.append(ids[at:])
    return Corruption(*(np.concatenate(part).astype(np.int64) for part in (source, target)))


def _compose(total: int, num_parts: int, generator: np.random.Generator) -> Integers:
    """`total` as a sum of positive parts, all such sums equally likely: int64 [num_parts]."""
    cuts = np.sort(generator.choice(total - 1, num_parts - 1, replace=False)) + 1
    return np.diff(np.concatenate([[0], cuts, [total]]))


def _check(
    ids: Integers, sentinels: Integers, noise_density: float, mean_span_length: float
) -> None:
    if not len(ids):
        raise ValueError("an empty sentence has no spans; leave it out")
    if not len(sentinels):
        raise ValueError("span corruption needs a sentinel at least")
    if not 0 < noise_density < 1:
        raise ValueError(f"noise_density = {noise_density}: must lie between 0 and 1")
    if not mean_span_length >= 1:
        raise ValueError(f"mean_span_length = {mean_span_length}: must be 1 or more")
