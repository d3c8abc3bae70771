"""Translation as tutorials write it: no cache, the whole prefix through the decoder at each step.

The encoder runs once. Every step runs the whole decoder over all tokens so far and keeps the last
position's scores. The beams of a sentence stand as rows of the batch, with copies of its source.

Shapes: B batch, S source length, W beams, V target vocabulary, t tokens so far.
"""

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.search.beam import length_weight
from transformer.text.special_tokens import SpecialIds


@torch.inference_mode()
def greedy(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    max_lengths: Tensor,
    special: SpecialIds,
) -> Tensor:
    """The most probable token at every step.

    Args:
        model: in evaluation mode.
        source: int64 [B, S].
        source_mask: bool [B, S], True at real tokens.
        max_lengths: int64 [B], the most tokens of each translation, end token included.
        special: marks of the target vocabulary.

    Returns:
        int64 [B, T], end token included, then padding.
    """
    memory = model.encode(source, source_mask)
    target = torch.full_like(source[:, :1], special.bos_id)  # [B, t]
    has_ended = torch.zeros_like(source[:, 0], dtype=torch.bool)
    for length in range(1, int(max_lengths.max()) + 1):
        log_p = _next_log_p(model, target, memory, source_mask, special)  # [B, V]
        tokens = torch.where(has_ended, special.pad_id, log_p.argmax(dim=1))
        target = torch.cat([target, tokens.unsqueeze(1)], dim=1)
        has_ended = has_ended | (tokens == special.eos_id) | (length >= max_lengths)
        if bool(has_ended.all()):
            break
    return target[:, 1:]


@torch.inference_mode()
def beam_search(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    max_lengths: Tensor,
    special: SpecialIds,
    *,
    beam_size: int,
    length_penalty: float,
) -> Tensor:
    """The W best hypotheses at every step, ended ones among them, until all W have ended.

    Args and result as in `greedy`; the best by log p / ((5 + length) / 6) ** length_penalty.
    """
    batch = len(source)
    memory = model.encode(source, source_mask).repeat_interleave(beam_size, 0)  # [B * W, S, D]
    mask = source_mask.repeat_interleave(beam_size, 0)
    limits = max_lengths.unsqueeze(1)
    offsets = torch.arange(batch, device=source.device).unsqueeze(1) * beam_size
    target = torch.full_like(mask[:, :1], special.bos_id, dtype=torch.int64)  # [B * W, t]
    scores = torch.full((batch, beam_size), -torch.inf, device=source.device)
    scores[:, 0] = 0.0  # all beams are alike at first, so that one stands for all
    has_ended = torch.zeros_like(scores, dtype=torch.bool)
    for length in range(1, int(max_lengths.max()) + 1):
        log_p = _next_log_p(model, target, memory, mask, special)
        log_p = log_p.view(batch, beam_size, -1)  # [B, W, V]
        # An ended hypothesis keeps its score: nothing but padding follows, at no cost.
        log_p[has_ended] = -torch.inf
        log_p[..., special.pad_id][has_ended] = 0.0
        candidates = (scores.unsqueeze(2) + log_p).flatten(1)  # [B, W * V]
        scores, best = candidates.topk(beam_size)
        parents, tokens = best // log_p.shape[2], best % log_p.shape[2]
        rows = (parents + offsets).flatten()
        target = torch.cat([target[rows], tokens.reshape(-1, 1)], dim=1)
        has_ended = has_ended.gather(1, parents) | (tokens == special.eos_id) | (length >= limits)
        if bool(has_ended.all()):
            break
    target = target[:, 1:].reshape(batch, beam_size, -1)  # [B, W, T]
    lengths = (target != special.pad_id).sum(2)
    penalty = torch.tensor(length_penalty, device=source.device)
    chosen = (scores * length_weight(lengths, penalty)).argmax(dim=1)
    return target[torch.arange(batch, device=source.device), chosen]


def _next_log_p(
    model: Transformer, target: Tensor, memory: Tensor, mask: Tensor, special: SpecialIds
) -> Tensor:
    logits = model.project(model.decode(target, memory, mask)[:, -1])
    log_p = torch.log_softmax(logits, dim=-1)
    log_p[:, [special.pad_id, special.bos_id]] = -torch.inf  # nobody here generates these
    return log_p
