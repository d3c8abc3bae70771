"""How close a search came to another result."""

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.search import steps
from transformer.search.beam import (
    SearchConstants,
    SearchState,
    bound,
    length_weight,
    make_inputs,
)
from transformer.search.options import SearchOptions
from transformer.search.steps import SourceRows
from transformer.text.special_tokens import SpecialIds


@torch.inference_mode()
def smallest_margin(
    model: Transformer, source: list[int], options: SearchOptions, special: SpecialIds
) -> float:
    """The smallest gap between two scores that decided anything in one sentence's search.

    A runtime whose scores are off by less than half of it takes the same decisions at every step.
    The gaps are of normalised scores, as those of finished hypotheses are: between the worst
    continuation that lived on and the best that didn't, between it and each hypothesis that could
    end, between the best ended hypothesis and the next, and between the bound of the live ones
    and the best ended one.

    Args:
        model: in evaluation mode.
        source: ids with end token.
        options: of the search.
        special: of the target vocabulary.
    """
    ids = torch.tensor([source])
    has_source, cross, cache = steps.encode(model, ids, torch.ones_like(ids, dtype=torch.bool))
    inputs = make_inputs(options, torch.tensor([options.max_length(len(source))]))
    vocab_size = model.output_projection.out_features
    rows = SourceRows(cross, None)
    first = steps.begin(has_source, rows, cache, inputs, vocab_size, special)
    constants, state = first.constants, first.state
    margin = float("inf")
    while not state.is_row_done:
        after, cache, logits = steps.beam_step(model, constants, rows, state, cache, special)
        margin = min(margin, _step_margin(logits, state, after, constants, special))
        state = after
    return margin


def _step_margin(
    logits: Tensor,
    before: SearchState,
    after: SearchState,
    constants: SearchConstants,
    special: SpecialIds,
) -> float:
    weight = length_weight(after.num_steps, constants.length_penalty)
    log_p = before.live_scores.unsqueeze(2) + torch.log_softmax(logits.float(), -1)  # [1, W, V]
    ends = log_p[0, :, special.eos_id] * weight
    candidates = ((log_p + constants.banned) * weight).flatten()
    num_beams = before.live_scores.shape[1]
    best = candidates.topk(min(num_beams + 1, len(candidates))).values
    kept = best[num_beams - 1]
    pool = torch.cat([before.finished_scores[0], ends[ends >= kept]]).sort(descending=True).values
    hope = bound(after.live_scores, weight, constants)
    gaps = torch.cat(
        [kept - best[num_beams:], (ends - kept), pool[:1] - pool[1:2], hope - pool[:1]]
    )
    finite = gaps[gaps.isfinite()].abs()
    return float(finite.min()) if len(finite) else float("inf")
