"""Greedy search told step by step: what was chosen, what else might have been, where it looked.

Shapes: S source length, T target tokens, V target vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from transformer.evaluation.attention_maps import cross_attention
from transformer.model.transformer import Transformer
from transformer.search import greedy, steps
from transformer.search.steps import SourceRows
from transformer.text.special_tokens import SpecialIds


class TraceStep(NamedTuple):
    """One step of the decoder."""

    token: int  # what was taken
    candidates: list[tuple[int, float]]  # the likeliest tokens with probabilities, best first
    attention: list[float]  # [S], of the last layer, averaged over heads; sums to 1


@torch.inference_mode()
def trace_greedy(
    model: Transformer,
    source: Sequence[int],
    *,
    max_length: int,
    num_candidates: int,
    special: SpecialIds,
) -> list[TraceStep]:
    """The steps of the search that `search` does for one sentence and one beam.

    Args:
        model: in evaluation mode.
        source: ids with the end token.
        max_length: the most target tokens, end token included.
        num_candidates: how many of the likeliest tokens each step tells, or all that there are.
        special: of the target vocabulary.

    Raises:
        ValueError: the source is empty.
    """
    if not source:
        raise ValueError("there is no token to translate, so nothing to trace")
    device = next(model.parameters()).device
    memory = model.encode(torch.tensor([source], device=device), None)
    cross, cache = model.init_cache(memory, None)
    limit = torch.tensor([[max_length]], device=device)
    source_rows = SourceRows(cross, None)
    state = greedy.init_state(limit, special)
    taken: list[int] = []
    likeliest: list[list[tuple[int, float]]] = []
    while not state.is_row_done:
        state, cache, logits = steps.greedy_step(model, limit, source_rows, state, cache, special)
        probabilities = logits.float().softmax(-1).flatten()
        best = probabilities.topk(min(num_candidates, len(probabilities)))
        likeliest.append(list(zip(best.indices.tolist(), best.values.tolist(), strict=True)))
        taken.append(int(state.tokens))
    if not taken:
        return []
    maps = cross_attention(model, source, [special.bos_id, *taken[:-1]])[-1].tolist()  # [T][S]
    return [TraceStep(*step) for step in zip(taken, likeliest, maps, strict=True)]


def describe_trace(
    steps: Sequence[TraceStep],
    source_pieces: Sequence[str],
    name_target: Callable[[int], str],
    bos: int,
    num_looks: int = 3,
) -> str:
    """The steps as lines for people: before each step the decoder's input, after all the last.

    Args:
        steps: of `trace_greedy`.
        source_pieces: what a reader calls the source's tokens, S of them.
        name_target: what a reader calls an id of the target vocabulary.
        bos: the target's start token.
        num_looks: how many source tokens are named, those that got most attention.
    """
    lines, state = [], [name_target(bos)]
    for number, step in enumerate(steps, start=1):
        lines.append(f"state   {' '.join(state)}")
        choices = " | ".join(f"{name_target(id)} {share:.3f}" for id, share in step.candidates)
        looks = sorted(enumerate(step.attention), key=lambda look: -look[1])[:num_looks]
        looked = ", ".join(f"{source_pieces[place]} {share:.2f}" for place, share in looks)
        lines.append(f"step {number:<2} {choices}   looks at {looked}")
        state.append(name_target(step.token))
    return "\n".join([*lines, f"state   {' '.join(state)}"])
