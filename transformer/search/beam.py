"""Beam search as pure functions from state to state.

`transformer.search.steps` joins them with the decoder; PyTorch runs those steps in a loop
(`transformer.search.decode`), and export compiles the same steps into the bodies of ONNX `Loop`s.
So every size comes from a shape, every choice is made on tensors, and nothing is read back to the
host.

A search runs in rounds. Within a round each step lengthens all rows; when half of them are done it
ends: their translations are collected, and the next round has the other rows alone. So a batch
costs little more than its sentences do, however far apart they end.

The keys and values of all beams at all steps stay where they were computed. Which of them a
hypothesis descends from is told by its ancestry, the one thing that a change of beams moves.

Shapes: B batch, b rows of it in the present round, W beams, N hypotheses to return (W at most),
V target vocabulary, t tokens so far, P = t * W positions. The fields of the types declare their
type and axes, which the signatures of the exported graph are made of
(`transformer.export.signatures`): `batch` is b, `whole` is B, `slots` are N, `pool` is b * (N + W),
`hypotheses` are b * W.

How it searches:
- Live hypotheses and finished ones are kept apart. At each step the W best continuations live on.
  A hypothesis may end when ending it is at least as probable as the worst continuation that lives
  on; it is then ranked among the finished ones by its normalised score, and the N best are kept.
- score = sum of log p / ((5 + length) / 6) ** length_penalty, the end token counted in both
  (Wu et al. 2016, arXiv:1609.08144, equation 14, without coverage).
- A sentence is done when it has reached its maximum length, or when no live hypothesis can still
  win: more tokens only lower a sum of log-probabilities, and for a penalty of 0 or more the divisor
  is largest at the maximum length, so best live sum / divisor at the maximum length bounds every
  score to come. One beam is greedy search, `transformer.search.greedy`.
- That bound is loose: it supposes that all further tokens are certain. A patience ends a search
  sooner: when patience * W hypotheses have ended (Kasai et al. 2022, arXiv:2204.05424), or when no
  live hypothesis could win even if its score, at its present length, became `LARGEST_GAIN` better.
  What that costs and gives is measured in docs/results/patience.md.
- A hypothesis cut at the maximum length carries no end token; it is returned only after all
  finished ones. The padding and start tokens are never generated; the unknown token is.
- Of equal scores the finished one that came first wins, then the lower beam, then the token that
  `topk` puts first.
"""

from typing import Annotated, NamedTuple

import torch
from torch import Tensor

from transformer.search.options import SearchOptions
from transformer.text.special_tokens import SpecialIds

# By which share of its present score a live hypothesis may still gain as it grows, where there is a
# patience. Scores are negative: a fifth better is that score divided by 1.2.
LARGEST_GAIN = 0.2

# Padding, start and end token: never among the continuations of a hypothesis.
NUM_BANNED = 3


class SearchInputs(NamedTuple):
    """The options of a search, for a batch (`transformer.search.options.SearchOptions`).

    `beams` are `beam_size` indices, `slots` are `num_best`.
    """

    max_length: Annotated[Tensor, "int64 batch"]  # of each translation, end token included
    length_penalty: Annotated[Tensor, "float32"]  # 0 or more
    patience: Annotated[Tensor, "float32"]  # 1 or more; inf for none
    beams: Annotated[Tensor, "int64 beams"]  # 0 1 2 ...
    slots: Annotated[Tensor, "int64 slots"]  # likewise, for the hypotheses to return; N <= W


class SearchConstants(NamedTuple):
    """What stays the same over the steps of a round."""

    max_lengths: Annotated[Tensor, "int64 batch"]  # end token included; 0 for a row without source
    length_penalty: Annotated[Tensor, "float32"]
    final_weights: Annotated[Tensor, "float32 batch"]  # `length_weight` at the maximum length
    max_ended: Annotated[Tensor, "float32"]  # ended hypotheses after which a sentence is done
    # Least share of its present score that a live hypothesis may come to; 0 without a patience.
    least_share: Annotated[Tensor, "float32"]
    banned: Annotated[Tensor, "float32 vocabulary"]  # -inf at tokens that continue nothing, else 0
    beams: Annotated[Tensor, "int64 1 beams"]  # 0 1 2 ...
    beam_offsets: Annotated[Tensor, "int64 batch 1"]  # of a row's first beam in [b * W]
    pool_offsets: Annotated[Tensor, "int64 batch 1"]  # the same in `SearchState.sequences`


class SearchState(NamedTuple):
    """What one step hands to the next."""

    num_steps: Annotated[Tensor, "int64"]
    tokens: Annotated[Tensor, "int64 batch beams"]  # the latest one of each live hypothesis
    live_scores: Annotated[Tensor, "float32 batch beams"]  # sum of log p, best first; -inf: unused
    finished_scores: Annotated[Tensor, "float32 batch slots"]  # normalized, best first; -inf: free
    num_ended: Annotated[Tensor, "float32 batch"]  # hypotheses that have ended, kept or not
    is_row_done: Annotated[Tensor, "bool batch"]
    # Per row the finished hypotheses, then the live ones.
    sequences: Annotated[Tensor, "int64 pool num_steps"]
    # Per live hypothesis 0 at its own past, else -inf; of the weights' type.
    ancestry: Annotated[Tensor, "weights hypotheses past"]


class SearchResult(NamedTuple):
    """Translations, best first; a slot that no hypothesis fills has length 0 and score -inf."""

    target: Annotated[Tensor, "int64 whole slots target_length"]  # no start token, then padding
    scores: Annotated[Tensor, "float32 whole slots"]  # normalized log-probability
    lengths: Annotated[Tensor, "int64 whole slots"]  # tokens, end token included


def make_inputs(options: SearchOptions, max_lengths: Tensor) -> SearchInputs:
    """The options as tensors, where `max_lengths`, int64 [B], is."""
    device = max_lengths.device
    return SearchInputs(
        max_lengths,
        torch.tensor(options.length_penalty, dtype=torch.float32, device=device),
        torch.tensor(options.patience, dtype=torch.float32, device=device),
        torch.arange(options.beam_size, device=device),
        torch.arange(options.num_best, device=device),
    )


def init_state(
    has_source: Tensor,
    inputs: SearchInputs,
    vocab_size: int,
    special: SpecialIds,
    dtype: torch.dtype,
) -> tuple[SearchConstants, SearchState]:
    """The constants of a search and its state before the first token.

    Args:
        has_source: bool [B]; a row without one ends at once, with an empty translation.
        inputs: the options.
        vocab_size: V.
        special: of the target vocabulary.
        dtype: of the model's weights.
    """
    beams, slots = inputs.beams.unsqueeze(0), inputs.slots.unsqueeze(0)  # [1, W], [1, N]
    max_lengths = inputs.max_length * has_source
    beam_offsets = _offsets(max_lengths, beams.shape[1])
    zeros = beam_offsets * 0
    ids = torch.tensor([special.pad_id, special.bos_id, special.eos_id], device=beams.device)
    never = torch.tensor(-torch.inf, device=beams.device)
    banned = torch.zeros(vocab_size, device=beams.device).index_put((ids,), never)
    constants = SearchConstants(
        max_lengths=max_lengths,
        length_penalty=inputs.length_penalty,
        final_weights=length_weight(max_lengths, inputs.length_penalty),
        max_ended=inputs.patience * beams.shape[1],
        least_share=torch.where(inputs.patience.isinf(), 0.0, 1 / (1 + LARGEST_GAIN)),
        banned=banned,
        beams=beams,
        beam_offsets=beam_offsets,
        pool_offsets=_offsets(max_lengths, beams.shape[1] + slots.shape[1]),
    )
    # All beams start alike, so that all but one are switched off until they differ.
    live_scores = torch.where(beams + zeros > 0, -torch.inf, 0.0)
    state = SearchState(
        num_steps=torch.zeros_like(max_lengths[:0]).sum(),
        tokens=beams * 0 + zeros + special.bos_id,
        live_scores=live_scores,
        finished_scores=torch.where(slots + zeros >= 0, -torch.inf, 0.0),
        num_ended=zeros.squeeze(1).float(),
        is_row_done=max_lengths < 1,
        sequences=(torch.cat([slots, beams], dim=1) + zeros).reshape(-1, 1)[:, :0],
        ancestry=live_scores.reshape(-1, 1)[:, :0].to(dtype),
    )
    return constants, state


def extend_ancestry(state: SearchState, constants: SearchConstants) -> SearchState:
    """The state with one more position of each beam, which that beam alone descends from."""
    beams = constants.beams
    own = torch.where(beams == beams.transpose(0, 1), 0.0, -torch.inf)  # [W, W]
    own = own.expand(state.tokens.shape[0], -1, -1).flatten(0, 1)  # [b * W, W]
    ancestry = torch.cat([state.ancestry, own.to(state.ancestry.dtype)], dim=1)
    return state._replace(ancestry=ancestry)


def step(
    logits: Tensor,
    state: SearchState,
    constants: SearchConstants,
    special: SpecialIds,
    is_alone: bool = False,
) -> SearchState:
    """Lengthens every live hypothesis by one token, and ends those that may end.

    Args:
        logits: [b, W, V], of the token that follows `state.tokens`; any float type.
        state: as it was for these logits, its ancestry extended by their position; not changed.
        constants: of this search.
        special: of the target vocabulary.
        is_alone: it is one sentence, and isn't done yet.
    """
    num_beams, num_best = constants.beams.shape[1], state.finished_scores.shape[1]
    # As many as may be needed where every banned token is among them.
    num_choices = torch.sym_min(num_beams + NUM_BANNED, constants.banned.shape[0])  # type: ignore[no-untyped-call]
    length = state.num_steps + 1

    log_p = torch.log_softmax(logits.float(), dim=-1)  # [b, W, V]
    end_scores = state.live_scores + log_p[:, :, special.eos_id]  # [b, W]
    choice_log_p, choices = log_p.topk(num_choices)  # [b, W, C]
    choice_log_p = choice_log_p + constants.banned.take(choices)
    candidates = (state.live_scores.unsqueeze(2) + choice_log_p).flatten(1)  # [b, W * C]
    live_scores, best = _best(candidates, num_beams)  # [b, W]
    tokens = choices.flatten(1).gather(1, best)
    parents = constants.beams.reshape(-1, 1).expand(-1, num_choices).take(best)

    may_end = end_scores >= live_scores[:, -1:]  # [b, W]
    if not is_alone:
        is_done = state.is_row_done.unsqueeze(1)  # [b, 1]
        may_end = may_end & ~is_done
    weight = length_weight(length, constants.length_penalty)
    weighted = end_scores * weight
    ended_scores = torch.where(may_end, weighted, -torch.inf)  # [b, W]
    pool = torch.cat([state.finished_scores, ended_scores], dim=1)  # [b, N + W]
    finished_scores, kept = _best(pool, num_best)  # [b, N]

    if not is_alone:
        # A sentence that was done before this step keeps its hypotheses as they were.
        live_scores = torch.where(is_done, state.live_scores, live_scores)
        tokens = torch.where(is_done, special.pad_id, tokens)
        parents = torch.where(is_done, constants.beams, parents)
    ends = torch.where(kept < num_best, special.pad_id, special.eos_id)
    rows, hypotheses = torch.cat([kept, parents + num_best], dim=1), parents  # [b, N + W], [b, W]
    if not is_alone:
        rows, hypotheses = rows + constants.pool_offsets, hypotheses + constants.beam_offsets
    last = torch.cat([ends, tokens], dim=1).reshape(-1, 1)
    sequences = torch.cat([state.sequences.index_select(0, rows.reshape(-1)), last], dim=1)

    num_ended = state.num_ended + (ended_scores > -torch.inf).float().sum(1)
    bounds = bound(live_scores, weight, constants)
    # A rule that ends a sentence before its length does must leave its N slots full: `finish` gives
    # free ones to hypotheses that were cut.
    is_row_done = (
        (length >= constants.max_lengths)
        | (num_ended >= constants.max_ended)
        | (bounds <= finished_scores[:, -1])
    )
    if not is_alone:
        is_row_done = is_row_done | state.is_row_done
    return SearchState(
        num_steps=length,
        tokens=tokens,
        live_scores=live_scores,
        finished_scores=finished_scores,
        num_ended=num_ended,
        is_row_done=is_row_done,
        sequences=sequences,
        ancestry=state.ancestry.index_select(0, hypotheses.reshape(-1)),
    )


def bound(live_scores: Tensor, weight: Tensor, constants: SearchConstants) -> Tensor:
    """The best that a live hypothesis of each row is taken to come to, float32 [b].

    Args:
        live_scores: [b, W], best first.
        weight: `length_weight` at their length.
        constants: of the search.
    """
    least = torch.maximum(constants.final_weights, weight * constants.least_share)
    return live_scores[:, 0] * least


def finish(state: SearchState, constants: SearchConstants, special: SpecialIds) -> SearchResult:
    """The N best hypotheses of each row so far; they are final for rows that are done."""
    num_best = state.finished_scores.shape[1]
    filled = (state.finished_scores > -torch.inf).sum(1, keepdim=True)  # [b, 1]
    slot = torch.ones_like(state.finished_scores).cumsum(1).long() - 1  # [b, N]
    # Slots left free go to hypotheses cut at the maximum length, which the live ones are by then.
    index = torch.where(slot < filled, slot, slot - filled + num_best)
    live_scores = state.live_scores * constants.final_weights.unsqueeze(1)
    scores = torch.cat([state.finished_scores, live_scores], dim=1).gather(1, index)
    rows = (index + constants.pool_offsets).reshape(-1)
    target = state.sequences.index_select(0, rows)  # [b * N, t]
    target = target.reshape(*index.shape, state.sequences.shape[1])  # [b, N, t]
    target = torch.where(scores.unsqueeze(2) > -torch.inf, target, special.pad_id)
    return SearchResult(target, scores, (target != special.pad_id).sum(2))


def collect(
    answers: SearchResult, rows: Tensor, found: SearchResult, special: SpecialIds
) -> SearchResult:
    """The answers of the whole batch, with those of `rows`, int64 [b], as they were found.

    `found` comes from a later round, so that its targets are as long as the others or longer.
    """
    longer = answers.target.new_zeros(1, 1, found.target.shape[2] - answers.target.shape[2])
    padding = (longer + special.pad_id).expand(*answers.target.shape[:2], -1)
    target = torch.cat([answers.target, padding], dim=2)
    return SearchResult(
        target.index_copy(0, rows, found.target),
        answers.scores.index_copy(0, rows, found.scores),
        answers.lengths.index_copy(0, rows, found.lengths),
    )


def narrow(
    constants: SearchConstants, state: SearchState, rows: Tensor
) -> tuple[SearchConstants, SearchState]:
    """Constants and state of some rows alone, int64 [b]: the next round."""
    batch, num_beams = state.tokens.shape
    pool_size = state.finished_scores.shape[1] + num_beams
    pool = state.sequences.reshape(batch, pool_size, state.sequences.shape[1])
    constants = constants._replace(
        max_lengths=constants.max_lengths.index_select(0, rows),
        final_weights=constants.final_weights.index_select(0, rows),
        beam_offsets=_offsets(rows, num_beams),
        pool_offsets=_offsets(rows, pool_size),
    )
    hypotheses = (rows.unsqueeze(1) * num_beams + constants.beams).flatten()
    state = SearchState(
        num_steps=state.num_steps,
        tokens=state.tokens.index_select(0, rows),
        live_scores=state.live_scores.index_select(0, rows),
        finished_scores=state.finished_scores.index_select(0, rows),
        num_ended=state.num_ended.index_select(0, rows),
        is_row_done=state.is_row_done.index_select(0, rows),
        sequences=pool.index_select(0, rows).flatten(0, 1),
        ancestry=state.ancestry.index_select(0, hypotheses),
    )
    return constants, state


def length_weight(lengths: Tensor, length_penalty: Tensor) -> Tensor:
    """1 / ((5 + length) / 6) ** length_penalty, float32: a sum of log p times it is a score."""
    return ((lengths.float() + 5) / 6) ** -length_penalty


def _offsets(rows: Tensor, size: int) -> Tensor:
    # Where each of b rows begins among b * size places: int64 [b, 1].
    return (torch.ones_like(rows).cumsum(0).unsqueeze(1) - 1) * size


def _best(scores: Tensor, num_best: int) -> tuple[Tensor, Tensor]:
    # The best scores of each row and where they stand, the first of equal ones first. ONNX's TopK
    # keeps that order; torch's doesn't promise to, so there a stable sort of the few scores does.
    if torch.compiler.is_exporting():
        return scores.topk(num_best)
    values, index = scores.sort(dim=1, descending=True, stable=True)
    return values[:, :num_best], index[:, :num_best]
