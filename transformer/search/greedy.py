"""Greedy search: beam search with one beam, in far fewer operations.

As in `transformer.search.beam` these are pure functions of tensors, which PyTorch loops and
export compiles, and a search runs in rounds. With one beam there are no hypotheses to keep: what
remains is the likeliest token of each row, until it is the end token.

Shapes: B batch, b rows of it in the present round, V target vocabulary, t tokens of a round,
T tokens. In the declared axes `batch` is b, `whole` is B.
"""

from typing import Annotated, NamedTuple

import torch
from torch import Tensor

from transformer.search.beam import SearchResult, length_weight
from transformer.text.special_tokens import SpecialIds


class GreedyState(NamedTuple):
    """What one step hands to the next."""

    num_steps: Annotated[Tensor, "int64"]
    tokens: Annotated[Tensor, "int64 batch 1"]  # the latest ones
    totals: Annotated[Tensor, "float32 batch 1"]  # sums of log p
    is_row_done: Annotated[Tensor, "bool batch 1"]


class GreedyAnswers(NamedTuple):
    """What has been found so far; padding where a row was done, or is of no later round."""

    target: Annotated[Tensor, "int64 whole target_length"]
    totals: Annotated[Tensor, "float32 whole 1"]


def init_state(max_lengths: Tensor, special: SpecialIds) -> GreedyState:
    """The state before the first token; `max_lengths`, int64 [B, 1], are of its device."""
    zeros = torch.zeros_like(max_lengths)
    return GreedyState(zeros.sum(), zeros + special.bos_id, zeros.float(), max_lengths < 1)


def step(
    logits: Tensor,
    state: GreedyState,
    max_lengths: Tensor,
    special: SpecialIds,
    is_alone: bool = False,
) -> GreedyState:
    """The likeliest token is taken; padding and start token never are.

    Args:
        logits: [b, 1, V], of the token that follows `state.tokens`; any float type.
        state: as it was for these logits; it is not changed.
        max_lengths: int64 [b, 1], end token included.
        special: of the target vocabulary.
        is_alone: no row is done yet, as in a search for one that ends when it does.
    """
    ids = torch.tensor([special.pad_id, special.bos_id], device=logits.device)
    never = torch.tensor(-torch.inf, device=logits.device)
    banned = torch.zeros(logits.shape[2], device=logits.device).index_put((ids,), never)
    log_p, tokens = (torch.log_softmax(logits.float(), dim=-1) + banned).topk(1)  # [b, 1, 1]
    log_p, tokens = log_p.squeeze(2), tokens.squeeze(2)
    length = state.num_steps + 1
    is_row_done = (tokens == special.eos_id) | (length >= max_lengths)
    if not is_alone:
        log_p = torch.where(state.is_row_done, 0.0, log_p)
        tokens = torch.where(state.is_row_done, special.pad_id, tokens)
        is_row_done = is_row_done | state.is_row_done
    return GreedyState(length, tokens, state.totals + log_p, is_row_done)


def collect(
    answers: GreedyAnswers, rows: Tensor, taken: Tensor, state: GreedyState, special: SpecialIds
) -> GreedyAnswers:
    """The answers with what a round of some rows, int64 [b], has `taken`, int64 [t, b, 1]."""
    tokens = taken.squeeze(2).transpose(0, 1)  # [b, t]
    padding = tokens[:1] * 0 + special.pad_id  # [1, t]
    padding = padding.expand(answers.target.shape[0], -1)
    return GreedyAnswers(
        torch.cat([answers.target, padding.index_copy(0, rows, tokens)], dim=1),
        answers.totals.index_copy(0, rows, state.totals),
    )


def narrow(state: GreedyState, rows: Tensor) -> GreedyState:
    """The state of some rows alone, int64 [b]: the next round."""
    return GreedyState(state.num_steps, *(value.index_select(0, rows) for value in state[1:]))


def finish(answers: GreedyAnswers, length_penalty: Tensor, special: SpecialIds) -> SearchResult:
    """The only hypothesis of each row."""
    lengths = (answers.target != special.pad_id).sum(1, keepdim=True)  # [B, 1]
    scores = answers.totals * length_weight(lengths, length_penalty)
    return SearchResult(answers.target.unsqueeze(1), scores, lengths)
