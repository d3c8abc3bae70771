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
from transformer.search.greedy import GreedyAnswers, GreedyState
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


class GreedyRound(NamedTuple):
    """All that a round of greedy search begins with."""

    answers: GreedyAnswers  # of the whole batch, as far as they are found
    batch_indices: Annotated[Tensor, "int64 batch"]  # which rows of the batch this round has
    max_lengths: Annotated[Tensor, "int64 batch 1"]  # end token included; 0 without a source
    source: SourceRows
    state: GreedyState
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
    return Round(answers, _indices(inputs.max_length), constants, source, state, cache)


def begin_greedy(
    has_source: Tensor,
    source: SourceRows,
    cache: SelfCache,
    max_length: Tensor,
    special: SpecialIds,
) -> GreedyRound:
    """The first round: all rows, no answers. `max_length` as in `beam.SearchInputs`."""
    max_lengths = (max_length * has_source).unsqueeze(1)
    state = greedy.init_state(max_lengths, special)
    answers = GreedyAnswers(max_lengths[:, :0], state.totals)
    return GreedyRound(answers, _indices(max_length), max_lengths, source, state, cache)


def beam_step(
    model: Transformer,
    constants: SearchConstants,
    source: SourceRows,
    state: SearchState,
    cache: SelfCache,
    special: SpecialIds,
    shortlist: VocabularyShortlist | None = None,
    is_alone: bool = False,
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
        is_alone: it is one sentence, which has all of its short-list to itself and ends the search.

    Returns:
        State and cache after it, and the logits, [b, W, V].
    """
    state = beam.extend_ancestry(state, constants)
    ancestry = state.ancestry.reshape(state.tokens.shape[0], 1, state.tokens.shape[1], -1)
    logits, cache = model.step(
        state.tokens, state.num_steps, source.cross, cache, ancestry, shortlist
    )
    if source.token_mask is not None and not is_alone:
        logits = logits + source.token_mask.unsqueeze(1)
    return beam.step(logits, state, constants, special, is_alone), cache, logits


def end_round(active: Tensor, last: Round, special: SpecialIds) -> Round:
    """Collects a round's answers and keeps the rows that aren't done: `active`, int64 [b]."""
    found = beam.finish(last.state, last.constants, special)
    answers = beam.collect(last.answers, last.batch_indices, found, special)
    constants, state = beam.narrow(last.constants, last.state, active)
    batch_indices = last.batch_indices.index_select(0, active)
    source, cache = _narrow(last.source, last.cache, active)
    return Round(answers, batch_indices, constants, source, state, cache)


def greedy_step(
    model: Transformer,
    max_lengths: Tensor,
    source: SourceRows,
    state: GreedyState,
    cache: SelfCache,
    special: SpecialIds,
    shortlist: VocabularyShortlist | None = None,
    is_alone: bool = False,
) -> tuple[GreedyState, SelfCache, Tensor]:
    """One step with one beam, as `beam_step`; `max_lengths` as in `GreedyRound`."""
    logits, cache = model.step(state.tokens, state.num_steps, source.cross, cache, None, shortlist)
    if source.token_mask is not None and not is_alone:
        logits = logits + source.token_mask.unsqueeze(1)
    return greedy.step(logits, state, max_lengths, special, is_alone), cache, logits


def end_greedy_round(
    active: Tensor, last: GreedyRound, taken: Tensor, special: SpecialIds
) -> GreedyRound:
    """As `end_round`; `taken`, int64 [t, b, 1], are the tokens of the round's steps."""
    answers = greedy.collect(last.answers, last.batch_indices, taken, last.state, special)
    batch_indices = last.batch_indices.index_select(0, active)
    max_lengths = last.max_lengths.index_select(0, active)
    state = greedy.narrow(last.state, active)
    source, cache = _narrow(last.source, last.cache, active)
    return GreedyRound(answers, batch_indices, max_lengths, source, state, cache)


def is_round_over(state: SearchState | GreedyState) -> Tensor:
    """bool []: half of the rows are done, or more; further steps would mostly be idle."""
    return state.is_row_done.sum() * 2 >= state.is_row_done.shape[0]


def visible(source_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows have a source, bool [B], and a mask under which those without see one token.

    Attention over nothing has no defined weights; what such a row computes is thrown away.
    """
    has_source = source_mask.any(dim=1)
    first = torch.ones_like(source_mask).cumsum(1) == 1  # [B, S]
    return has_source, source_mask | (first & ~has_source.unsqueeze(1))


def _indices(rows: Tensor) -> Tensor:
    # 0 1 2 ... for each of them.
    return torch.ones_like(rows).cumsum(0) - 1


def _narrow(source: SourceRows, cache: SelfCache, rows: Tensor) -> tuple[SourceRows, SelfCache]:
    # What the decoder reads of some rows alone, int64 [b].
    def select(values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(value.index_select(0, rows) for value in values)

    cross, token_mask = source
    mask = None if cross.mask is None else cross.mask.index_select(0, rows)
    rows_left = SourceRows(
        CrossCache(mask, select(cross.keys), select(cross.values)),
        None if token_mask is None else token_mask.index_select(0, rows),
    )
    return rows_left, SelfCache(select(cache.keys), select(cache.values))
