"""How close a search came to another result."""

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.search.beam import (
    SearchPlan,
    SearchState,
    SpecialIds,
    init_state,
    length_weight,
    step,
)
from transformer.search.decode import reorder


@torch.inference_mode()
def smallest_margin(
    model: Transformer,
    source: list[int],
    *,
    beam_size: int,
    length_penalty: float,
    patience: float,
    max_length: int,
    special: SpecialIds,
) -> float:
    """The smallest gap between two scores that decided anything in one sentence's search.

    A runtime whose scores are off by less than half of it takes the same decisions at every step.
    The gaps are of normalised scores, as those of finished hypotheses are: between the worst
    continuation that lived on and the best that didn't, between it and each hypothesis that could
    end, between the best ended hypothesis and the next, and between the bound of the live ones
    and the best ended one.

    Args:
        model: in evaluation mode.
        source: ids with end mark.
        beam_size: as in `transformer.search.decode.search`, as the others here.
        length_penalty: exponent.
        patience: infinite for none.
        max_length: the most target tokens.
        special: marks of the target vocabulary.
    """
    ids = torch.tensor([source])
    plan, state = init_state(
        torch.tensor([True]),
        torch.tensor([max_length]),
        torch.tensor(length_penalty),
        torch.tensor(patience),
        torch.arange(beam_size),
        torch.arange(1),
        model.output_projection.out_features,
        special,
    )
    cache = model.init_cache(model.encode(ids, None), None, beam_size)
    margin = float("inf")
    while not state.is_row_done:
        logits, cache = model.step(state.tokens, reorder(cache, state.parents))
        after = step(logits, state, plan, special)
        margin = min(margin, _step_margin(logits, state, after, plan, special))
        state = after
    return margin


def _step_margin(
    logits: Tensor, before: SearchState, after: SearchState, plan: SearchPlan, special: SpecialIds
) -> float:
    weight = length_weight(after.num_steps, plan.length_penalty)
    log_p = before.live_scores.unsqueeze(2) + torch.log_softmax(logits.float(), -1)  # [1, W, V]
    ends = log_p[0, :, special.eos] * weight
    candidates = ((log_p + plan.banned) * weight).flatten()
    num_beams = before.live_scores.shape[1]
    best = candidates.topk(min(num_beams + 1, len(candidates))).values
    kept = best[num_beams - 1]
    pool = torch.cat([before.finished_scores[0], ends[ends >= kept]]).sort(descending=True).values
    bound = after.live_scores[0, 0] * plan.final_weights[0]
    gaps = torch.cat(
        [kept - best[num_beams:], (ends - kept), pool[:1] - pool[1:2], bound - pool[:1]]
    )
    finite = gaps[gaps.isfinite()].abs()
    return float(finite.min()) if len(finite) else float("inf")
