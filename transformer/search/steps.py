"""One step of each search with the decoder in it, and what begins and ends a round.

These are all that a search does. `transformer.search.decode` loops them in PyTorch, and
`transformer.export.subgraphs` compiles them into one ONNX graph: neither adds anything to what is
computed.

Shapes: B batch, b rows of the present round, S source length, W beams, N hypotheses to return,
V target vocabulary or, with a short-list, n tokens in it.
"""

from typing import Annotated, NamedTuple

import torch
from torch import Tensor

from transformer.model.transformer import (
    CrossCache,
    SelfCache,
    Transformer,
    VocabularyShortlist,
)
from transformer.search import beam, greedy
from transformer.search.beam import SearchConstants, SearchInputs, SearchResult, SearchState
from transformer.search.greedy import GreedyState
from transformer.text.special_tokens import SpecialIds


class SourceRows(NamedTuple):
    """What decoding reads of the sources, a row each: the rows of a round."""

    cross: CrossCache
    # With a short-list, -inf at tokens in it that are not this row's, else 0.
    token_mask: Annotated[Tensor | None, "float32 batch vocabulary"]


class Round(NamedTuple):
    """All that a round of beam search begins with."""

    answers: SearchResult  # of the whole batch, as far as they are found
    batch_indices: Annotated[Tensor, "int64 batch"]  # which rows of the batch this round has
    constants: SearchConstants
    source: SourceRows
    state: SearchState
    cache: SelfCache


def encode(
    model: Transformer, source: Tensor, source_mask: Tensor
) -> tuple[Tensor, CrossCache, SelfCache]:
    """Source ids int64 [B, S] and their mask -> which rows have a source, bool [B]; the caches."""
    has_source, source_mask = visible(source_mask)
    memory = model.encode(source, source_mask)
    return has_source, *model.init_cache(memory, source_mask)


def begin(
    has_source: Tensor,
    source: SourceRows,
    cache: SelfCache,
    inputs: SearchInputs,
    vocab_size: int,
    special: SpecialIds,
) -> Round:
    """The first round: all rows, no answers. Arguments as in `beam.init_state`."""
    dtype = source.cross.keys[0].dtype
    constants, state = beam.init_state(has_source, inputs, vocab_size, special, dtype)
    answers = beam.finish(state, constants, special)  # empty ones
    batch_indices = torch.ones_like(inputs.max_length).cumsum(0) - 1
    return Round(answers, batch_indices, constants, source, state, cache)


def beam_step(
    model: Transformer,
    constants: SearchConstants,
    source: SourceRows,
    state: SearchState,
    cache: SelfCache,
    special: SpecialIds,
    shortlist: VocabularyShortlist | None = None,
) -> tuple[SearchState, SelfCache, Tensor]:
    """The decoder runs, the search chooses.

    Args:
        model: in evaluation mode.
        constants: of the search.
        source: of the round's rows.
        state: as the last step left it.
        cache: likewise.
        special: of the target vocabulary or, with a short-list, their places in it.
        shortlist: among which the search chooses; None for the whole vocabulary.

    Returns:
        State and cache after it, and the logits, [b, W, V].
    """
    state = beam.extend_ancestry(state, constants)
    ancestry = state.ancestry.reshape(state.tokens.shape[0], 1, state.tokens.shape[1], -1)
    logits, cache = model.step(
        state.tokens, state.num_steps, source.cross, cache, ancestry, shortlist
    )
    if source.token_mask is not None:
        logits = logits + source.token_mask.unsqueeze(1)
    return beam.step(logits, state, constants, special), cache, logits


def end_round(active: Tensor, last: Round, special: SpecialIds) -> Round:
    """Collects a round's answers and keeps the rows that aren't done: `active`, int64 [b]."""
    found = beam.finish(last.state, last.constants, special)
    answers = beam.collect(last.answers, last.batch_indices, found, special)
    constants, state = beam.narrow(last.constants, last.state, active)

    def select(values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(value.index_select(0, active) for value in values)

    cross, token_mask = last.source
    mask = None if cross.mask is None else cross.mask.index_select(0, active)
    return Round(
        answers,
        last.batch_indices.index_select(0, active),
        constants,
        SourceRows(
            CrossCache(mask, select(cross.keys), select(cross.values)),
            None if token_mask is None else token_mask.index_select(0, active),
        ),
        state,
        SelfCache(select(last.cache.keys), select(last.cache.values)),
    )


def greedy_step(
    model: Transformer,
    cross: CrossCache,
    state: GreedyState,
    cache: SelfCache,
    special: SpecialIds,
    shortlist: VocabularyShortlist | None = None,
) -> tuple[GreedyState, SelfCache, Tensor]:
    """One step for one sentence and one beam, as `beam_step`. All of a short-list is its own."""
    logits, cache = model.step(state.token, state.num_steps, cross, cache, None, shortlist)
    return greedy.step(logits, state, special), cache, logits


def visible(source_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows have a source, bool [B], and a mask under which those without see one token.

    Attention over nothing has no defined weights; what such a row computes is thrown away.
    """
    has_source = source_mask.any(dim=1)
    first = torch.ones_like(source_mask).cumsum(1) == 1  # [B, S]
    return has_source, source_mask | (first & ~has_source.unsqueeze(1))
