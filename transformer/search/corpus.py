"""Translation of a whole corpus of token ids: sorted, batched, put back in order."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from transformer.batches import length_batches
from transformer.model.transformer import Transformer
from transformer.search.decode import search
from transformer.search.options import SearchOptions
from transformer.text.special_tokens import SpecialIds


class Hypothesis(NamedTuple):
    """One translation."""

    ids: list[int]  # without start token; the end token is the last, unless it was cut
    score: float  # normalised log-probability


def decode_corpus(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    *,
    batch_tokens: int,
    source_pad: int,
    special: SpecialIds,
) -> list[list[Hypothesis]]:
    """The best translations of each source, best first, in the order of the sources.

    Runs where the model's weights are, in their precision.

    Args:
        model: in evaluation mode.
        sources: ids with end token, one sequence (or integer array) a sentence; one without any
            id gets an empty translation.
        options: how they are searched for; a vocabulary too small for `num_best` gives fewer.
        batch_tokens: the most source positions times beams in a batch, padding included; a
            sentence longer than that stands alone.
        source_pad: padding id of the source vocabulary.
        special: of the target vocabulary.
    """
    device = next(model.parameters()).device
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for rows in length_batches([len(ids) for ids in sources], batch_tokens // options.beam_size):
        lengths = torch.tensor([len(sources[row]) for row in rows])
        source = torch.full((len(rows), max(1, int(lengths.max()))), source_pad)
        for index, row in enumerate(rows):
            source[index, : len(sources[row])] = torch.as_tensor(sources[row], dtype=torch.int64)
        mask = torch.arange(source.shape[1]) < lengths.unsqueeze(1)
        found = search(model, source.to(device), mask.to(device), options, special)
        for row, ids, scores, sizes in zip(
            rows, found.target.tolist(), found.scores.tolist(), found.lengths.tolist(), strict=True
        ):
            results[row] = hypotheses(ids, scores, sizes)
    return results


def hypotheses(
    targets: Sequence[Sequence[int]], scores: Sequence[float], lengths: Sequence[int]
) -> list[Hypothesis]:
    """One sentence's part of a `SearchResult`, without its free slots."""
    return [
        Hypothesis(list(ids[:length]), score)
        for ids, score, length in zip(targets, scores, lengths, strict=True)
        if score > -math.inf
    ]
