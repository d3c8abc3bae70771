"""Loss on data that the model was not trained on."""

import numpy as np
import torch

from transformer.model.transformer import Transformer
from transformer.text.ids import Ids
from transformer.text.pairs import Integers, PairDataset
from transformer.training.batching import BatchPlan, make_batch
from transformer.training.device import autocast
from transformer.training.distributed import Ranks
from transformer.training.forward import Forward, score_batch
from transformer.training.reporting import ValidRow, valid_row


def rows_that_fit(pairs: PairDataset, max_positions: int) -> Integers:
    """The pairs of which both sides have a place for each token, int64 [N]."""
    longest = np.maximum(pairs.source_lengths, pairs.target_lengths)
    return np.flatnonzero(longest <= max_positions)


def count_too_long(pairs: PairDataset, max_positions: int) -> int:
    """How many pairs validation leaves out."""
    return len(pairs.source_lengths) - len(rows_that_fit(pairs, max_positions))


@torch.no_grad()
def validate(
    model: Transformer,
    ids: Ids,
    batch_tokens: int,
    precision: torch.dtype,
    step: int,
    ranks: Ranks,
    forward: Forward,
) -> ValidRow:
    """Loss, perplexity, accuracy over all validation pairs that fit; restores the model's mode.

    Args:
        model: on the device to compute on.
        ids: whose part `valid` is scored; pairs beyond the model's `max_positions` are left out.
        batch_tokens: as in `BatchPlan`.
        precision: dtype of matrix products.
        step: for the row.
        ranks: they share the batches, and each gets the whole row. Were one of them to do it all,
            the others would wait, on a GPU for so long at most before they give up.
        forward: the way through the model.
    """
    device = next(model.parameters()).device
    pairs, meta = ids.valid, ids.meta
    rows = rows_that_fit(pairs, model.config.max_positions)
    target_lengths = pairs.target_lengths[rows]
    plan = BatchPlan(pairs.source_lengths[rows], target_lengths, batch_tokens, seed=0)
    sums = torch.zeros(2, dtype=torch.float64, device=device)  # loss, correct tokens
    was_training = model.training
    model.eval()
    try:
        for number, indices in enumerate(plan.in_order()):
            if number % ranks.world_size != ranks.rank:
                continue
            batch = make_batch(
                pairs, rows[indices], meta.source.pad_id, meta.target.pad_id, meta.target.bos_id
            ).to(device)
            with autocast(device, precision):
                scores = score_batch(model, forward(model, batch), batch)
            sums[0] += scores.negative_log_likelihood
            sums[1] += scores.num_correct
    finally:
        model.train(was_training)
    ranks.all_reduce(sums)
    loss, correct = sums.tolist()
    return valid_row(step, loss, int(correct), int(target_lengths.sum()))
