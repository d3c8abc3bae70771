"""Translation of a batch of token ids by a PyTorch model."""

import torch
from torch import Tensor

from transformer.model.transformer import DecoderCache, Transformer
from transformer.search import greedy
from transformer.search.beam import (
    SearchPlan,
    SearchResult,
    SearchState,
    SpecialIds,
    collect,
    finish,
    init_state,
    is_phase_over,
    narrow,
    step,
)

# On an accelerator asking whether a phase is over waits for the queue; some idle steps cost less.
STEPS_PER_CHECK = 8


@torch.inference_mode()
def search(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    *,
    beam_size: int,
    length_penalty: float,
    patience: float,
    max_lengths: Tensor,
    num_best: int,
    special: SpecialIds,
) -> SearchResult:
    """Beam search with a key/value cache; how it ranks and stops stands in `decoding.beam`.

    Each row gets the answer that it would get alone. A row of padding only gets an empty one.

    Args:
        model: in evaluation mode.
        source: int64 [B, S], each row ending with its end mark, then padding.
        source_mask: bool [B, S], True at real tokens.
        beam_size: live hypotheses per sentence; 1 is greedy search.
        length_penalty: exponent of the length penalty, 0 or more.
        patience: a sentence is done after patience * beam_size ended hypotheses; 1 or more, inf
            for none.
        max_lengths: int64 [B], the most target tokens of each row, end mark included; at most
            model.max_positions.
        num_best: hypotheses to return, at most `beam_size`.
        special: marks of the target vocabulary.

    Raises:
        ValueError: a setting out of range.
    """
    _check(model, beam_size, length_penalty, patience, num_best)
    has_source, source_mask = visible(source_mask)
    steps = int(max_lengths.max())
    if steps > model.config.max_positions:
        raise ValueError(
            f"a maximum length of {steps} tokens is more than model.max_positions = "
            f"{model.config.max_positions}; ask for less"
        )
    device = source.device
    penalty = torch.tensor(length_penalty, dtype=torch.float32, device=device)
    if len(source) == beam_size == 1:
        cache = model.init_cache(model.encode(source, source_mask), source_mask, 1)
        return _search_greedily(model, cache, max_lengths * has_source, penalty, special)
    plan, state = init_state(
        has_source,
        max_lengths,
        penalty,
        torch.tensor(patience, dtype=torch.float32, device=device),
        torch.arange(beam_size, device=device),
        torch.arange(num_best, device=device),
        model.output_projection.out_features,
        special,
    )
    cache = model.init_cache(model.encode(source, source_mask), source_mask, beam_size)
    answers = finish(state, plan, special)  # empty ones
    rows = torch.arange(len(source), device=device)
    while len(rows):
        state, cache = _run_phase(model, plan, state, cache, steps, special)
        answers = collect(answers, rows, finish(state, plan, special), special)
        active = (~state.is_row_done).nonzero().squeeze(1)
        plan, state = narrow(plan, state, active)
        hypotheses = active.unsqueeze(1) * beam_size + plan.beams
        cache = select(cache, active, hypotheses.flatten())
        rows = rows[active]
    return answers._replace(target=answers.target[:, :, : int(answers.lengths.max())])


def _search_greedily(
    model: Transformer,
    cache: DecoderCache,
    max_length: Tensor,
    length_penalty: Tensor,
    special: SpecialIds,
) -> SearchResult:
    state = greedy.init_state(max_length, special)
    taken = [state.token[:0]]
    while greedy.goes_on(state, max_length, special):
        logits, cache = model.step(state.token, cache)
        state = greedy.step(logits, state, special)
        taken.append(state.token)
    return greedy.finish(torch.cat(taken), state.total, length_penalty)


def _run_phase(
    model: Transformer,
    plan: SearchPlan,
    state: SearchState,
    cache: DecoderCache,
    max_steps: int,
    special: SpecialIds,
) -> tuple[SearchState, DecoderCache]:
    # The cache that is returned follows the hypotheses of the state that is.
    steps_per_check = 1 if state.tokens.device.type == "cpu" else STEPS_PER_CHECK
    done_steps = cache.self_keys[0].shape[2]
    for index in range(max_steps - done_steps):
        if index % steps_per_check == 0 and bool(is_phase_over(state)):
            break
        logits, cache = model.step(state.tokens, cache)
        state = step(logits, state, plan, special)
        cache = reorder(cache, state.parents)
    return state, cache


def visible(source_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows have a source, bool [B], and a mask under which those without see one token.

    Attention over nothing has no defined weights; what such a row computes is thrown away.
    """
    has_source = source_mask.any(dim=1)
    first = torch.ones_like(source_mask).cumsum(1) == 1  # [B, S]
    return has_source, source_mask | (first & ~has_source.unsqueeze(1))


def reorder(cache: DecoderCache, parents: Tensor) -> DecoderCache:
    """The cache of hypotheses that grew from the beams `parents`, int64 [B, W], of their rows.

    Only what belongs to a hypothesis moves; the source side is shared by a sentence's beams.
    """
    batch, num_beams = parents.shape
    if num_beams == 1:
        return cache
    hypotheses = parents + torch.arange(batch, device=parents.device).unsqueeze(1) * num_beams
    return select(cache, None, hypotheses.flatten())


def select(cache: DecoderCache, rows: Tensor | None, hypotheses: Tensor) -> DecoderCache:
    """The cache of some hypotheses, int64 places in [B * W].

    Args:
        cache: it is not changed.
        rows: int64 [b], the sentences that they belong to; None keeps all.
        hypotheses: in the order of `rows`, W to each.
    """
    cache = cache._replace(
        self_keys=tuple(keys.index_select(0, hypotheses) for keys in cache.self_keys),
        self_values=tuple(values.index_select(0, hypotheses) for values in cache.self_values),
    )
    if rows is None:
        return cache
    mask = cache.source_mask
    return cache._replace(
        cross_keys=tuple(keys.index_select(0, rows) for keys in cache.cross_keys),
        cross_values=tuple(values.index_select(0, rows) for values in cache.cross_values),
        source_mask=None if mask is None else mask.index_select(0, rows),
    )


def _check(
    model: Transformer, beam_size: int, length_penalty: float, patience: float, num_best: int
) -> None:
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() before a search")
    if beam_size < 1:
        raise ValueError(f"beam_size = {beam_size}: allowed are 1 and more")
    if not 1 <= num_best <= beam_size:
        raise ValueError(
            f"num_best = {num_best}: allowed are 1 to beam_size = {beam_size}; "
            "raise beam_size or ask for fewer"
        )
    if not length_penalty >= 0:
        raise ValueError(f"length_penalty = {length_penalty}: allowed are 0 and more")
    if not patience >= 1:
        raise ValueError(f"patience = {patience}: allowed are 1 and more")
