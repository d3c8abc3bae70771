"""Greedy search of one sentence: beam search with one beam, in far fewer operations.

As in `transformer.search.beam` these are pure functions of tensors, which PyTorch loops and
export compiles. With one sentence there are no rows to tell apart, with one beam no hypotheses to
keep: what remains is the likeliest token, until it is the end token.

Shapes: V target vocabulary, T tokens.
"""

from typing import Annotated, NamedTuple

import torch
from torch import Tensor

from transformer.search.beam import SearchResult, length_weight
from transformer.text.special_tokens import SpecialIds


class GreedyState(NamedTuple):
    """What one step hands to the next."""

    num_steps: Annotated[Tensor, "int64"]
    token: Annotated[Tensor, "int64 1 1"]  # the latest one
    total: Annotated[Tensor, "float32"]  # sum of log p


def init_state(max_length: Tensor, special: SpecialIds) -> GreedyState:
    """The state before the first token; `max_length` int64 [1] is of its device."""
    zero = torch.zeros_like(max_length)
    return GreedyState(zero.sum(), zero.unsqueeze(1) + special.bos_id, zero.sum().float())


def step(logits: Tensor, state: GreedyState, special: SpecialIds) -> GreedyState:
    """The likeliest token is taken; padding and start token never are.

    Args:
        logits: [1, 1, V], of the token that follows `state.token`; any float type.
        state: as it was for these logits; it is not changed.
        special: of the target vocabulary.
    """
    ids = torch.tensor([special.pad_id, special.bos_id], device=logits.device)
    never = torch.tensor(-torch.inf, device=logits.device)
    banned = torch.zeros(logits.shape[2], device=logits.device).index_put((ids,), never)
    log_p, token = (torch.log_softmax(logits.float(), dim=-1) + banned).topk(1)  # [1, 1, 1]
    return GreedyState(state.num_steps + 1, token.squeeze(2), state.total + log_p.sum())


def goes_on(state: GreedyState, max_length: Tensor, special: SpecialIds) -> Tensor:
    """bool []: there is room, and the end token hasn't come."""
    is_open = (state.token != special.eos_id) & (state.num_steps < max_length)
    return is_open.all()


def finish(tokens: Tensor, total: Tensor, length_penalty: Tensor) -> SearchResult:
    """The answer from all tokens taken, int64 [T, 1, 1], and the last state's total."""
    target = tokens.reshape(1, 1, -1)
    lengths = torch.ones_like(target).sum(2)  # [1, 1]
    return SearchResult(target, total * length_weight(lengths, length_penalty), lengths)
