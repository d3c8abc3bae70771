"""Translation of a whole corpus of token ids: sorted, batched, put back in order."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from transformer.batches import length_batches
from transformer.model.transformer import Transformer
from transformer.search.beam import SpecialIds
from transformer.search.decode import search


class Hypothesis(NamedTuple):
    """One translation."""

    ids: list[int]  # without start mark; the end mark is the last, unless it was cut
    score: float  # normalised log-probability


def decode_corpus(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    beam_size: int,
    length_penalty: float,
    patience: float,
    max_length: Callable[[int], int],
    num_best: int,
    batch_tokens: int,
    source_pad: int,
    special: SpecialIds,
) -> list[list[Hypothesis]]:
    """The best translations of each source, best first, in the order of the sources.

    Runs where the model's weights are, in their precision.

    Args:
        model: in evaluation mode.
        sources: ids with end mark, one sequence (or integer array) a sentence; one without any
            id gets an empty translation.
        beam_size: as in `search`.
        length_penalty: as in `search`.
        patience: as in `search`.
        max_length: the most target tokens for a number of source tokens, both with end marks;
            see `SearchConfig.max_length`.
        num_best: hypotheses a sentence, at most `beam_size`; a vocabulary too small for so many
            gives fewer.
        batch_tokens: the most source positions times beams in a batch, padding included; a
            sentence longer than that stands alone.
        source_pad: padding mark of the source vocabulary.
        special: marks of the target vocabulary.
    """
    device = next(model.parameters()).device
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for rows in length_batches([len(ids) for ids in sources], batch_tokens // beam_size):
        lengths = torch.tensor([len(sources[row]) for row in rows])
        source = torch.full((len(rows), max(1, int(lengths.max()))), source_pad)
        for index, row in enumerate(rows):
            source[index, : len(sources[row])] = torch.as_tensor(sources[row], dtype=torch.int64)
        mask = torch.arange(source.shape[1]) < lengths.unsqueeze(1)
        found = search(
            model,
            source.to(device),
            mask.to(device),
            beam_size=beam_size,
            length_penalty=length_penalty,
            patience=patience,
            max_lengths=torch.tensor([max_length(int(n)) for n in lengths], device=device),
            num_best=num_best,
            special=special,
        )
        for row, ids, scores, sizes in zip(
            rows, found.target.tolist(), found.scores.tolist(), found.lengths.tolist(), strict=True
        ):
            results[row] = [
                Hypothesis(one[:size], score)
                for one, score, size in zip(ids, scores, sizes, strict=True)
                if score > -torch.inf
            ]
    return results
