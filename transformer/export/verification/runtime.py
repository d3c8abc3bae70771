"""The exported graph on token ids, run by onnxruntime."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime

from transformer.batches import length_batches
from transformer.search.corpus import Hypothesis


def run_graph(
    session: onnxruntime.InferenceSession,
    sources: Sequence[Sequence[int]],
    *,
    beam_size: int,
    length_penalty: float,
    patience: float,
    max_lengths: Sequence[int],
    num_best: int,
    source_pad: int,
) -> list[Any]:
    """One batch through the graph: its outputs as arrays, in the graph's order.

    Args:
        session: of a graph made by `transformer.export.graph`.
        sources: ids with end mark, one sequence a sentence; any may be empty.
        beam_size: live hypotheses per sentence.
        length_penalty: its exponent.
        patience: infinite for none.
        max_lengths: the most target tokens of each sentence, end mark included.
        num_best: hypotheses to return, at most `beam_size`.
        source_pad: padding mark of the source vocabulary.
    """
    width = max(1, *(len(ids) for ids in sources)) if sources else 1
    source = np.full((len(sources), width), source_pad, dtype=np.int64)
    for row, ids in enumerate(sources):
        source[row, : len(ids)] = ids
    inputs = {
        "source": source,
        "max_length": np.array(max_lengths, dtype=np.int64),
        "length_penalty": np.array(length_penalty, dtype=np.float32),
        "patience": np.array(patience, dtype=np.float32),
        "beam_size": np.array(beam_size, dtype=np.int64),
        "num_best": np.array(num_best, dtype=np.int64),
    }
    return list(session.run(None, inputs))


def translate_corpus(
    session: onnxruntime.InferenceSession,
    sources: Sequence[Sequence[int]],
    *,
    beam_size: int,
    length_penalty: float,
    patience: float,
    max_length: Callable[[int], int],
    num_best: int,
    batch_tokens: int,
    source_pad: int,
) -> list[list[Hypothesis]]:
    """What `transformer.search.corpus.decode_corpus` does, by the graph; arguments as there."""
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for rows in length_batches([len(ids) for ids in sources], batch_tokens // beam_size):
        target, scores, lengths = run_graph(
            session,
            [sources[row] for row in rows],
            beam_size=beam_size,
            length_penalty=length_penalty,
            patience=patience,
            max_lengths=[max_length(len(sources[row])) for row in rows],
            num_best=num_best,
            source_pad=source_pad,
        )
        for index, row in enumerate(rows):
            results[row] = [
                Hypothesis(target[index, place, : lengths[index, place]].tolist(), float(score))
                for place, score in enumerate(scores[index])
                if score > -np.inf
            ]
    return results
