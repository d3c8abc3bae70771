"""The exported graph on token ids, run by onnxruntime."""

from collections.abc import Sequence
from typing import Any

import onnxruntime

from transformer.batches import length_batches
from transformer.search.corpus import Hypothesis, hypotheses
from transformer.search.options import SearchOptions


def run_graph(
    session: onnxruntime.InferenceSession,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    source_pad: int,
) -> list[Any]:
    """One batch through the graph: its outputs as arrays, in the graph's order.

    Args:
        session: of a graph made by `transformer.export.graph`.
        sources: ids with end token, one sequence a sentence; any may be empty.
        options: of the search.
        source_pad: padding id of the source vocabulary.
    """
    return list(session.run(None, options.graph_inputs(sources, source_pad)))


def translate_corpus(
    session: onnxruntime.InferenceSession,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    *,
    batch_tokens: int,
    source_pad: int,
) -> list[list[Hypothesis]]:
    """What `transformer.search.corpus.decode_corpus` does, by the graph; arguments as there."""
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for rows in length_batches([len(ids) for ids in sources], batch_tokens // options.beam_size):
        batch = [sources[row] for row in rows]
        found = run_graph(session, batch, options, source_pad)
        for row, *parts in zip(rows, *(values.tolist() for values in found), strict=True):
            results[row] = hypotheses(*parts)
    return results
