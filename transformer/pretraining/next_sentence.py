"""Next-sentence prediction, for an encoder (Devlin et al. 2019, arXiv:1810.04805, section 3.1).

Of two sentences the encoder is to say whether the second one followed the first in the text. That
takes text whose lines follow each other, such as news; sentence pairs of Tatoeba do not.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.model.transformer import Transformer
from transformer.text.ids import IdsMeta
from transformer.text.pairs import Integers, PairDataset
from transformer.training.batching import BatchPlan, make_batch
from transformer.training.forward import Forward

_BATCH_TOKENS = 4096


class SentencePairs(NamedTuple):
    """Pairs of line numbers."""

    first: Integers  # int64 [N]
    second: Integers  # int64 [N]
    is_next: NDArray[np.bool_]  # bool [N]: second = first + 1


def pair_lines(num_lines: int, generator: np.random.Generator) -> SentencePairs:
    """Every line but the last as a first one, once, in order; half of them with the line after it.

    The other half has any other line but itself and the one after it. Which half is drawn.

    Raises:
        ValueError: there are fewer than three lines, so no line that does not follow.
    """
    if num_lines < 3:
        raise ValueError(
            f"{num_lines} lines have no two that don't follow each other; next-sentence "
            "prediction needs three at least"
        )
    first = np.arange(num_lines - 1)
    is_next = np.arange(num_lines - 1) % 2 == 0
    generator.shuffle(is_next)
    # A draw among the other lines: those from `first` on are two further.
    other = generator.integers(0, num_lines - 2, num_lines - 1)
    other += np.where(other >= first, 2, 0)
    return SentencePairs(first, np.where(is_next, first + 1, other), is_next)


@torch.no_grad()
def share_answered_right(
    model: Transformer,
    forward: Forward,
    pairs: PairDataset,
    meta: IdsMeta,
    follows: int,
    does_not: int,
) -> float:
    """How often the likelier of the two answers is the right one; guessing gives a half.

    Args:
        model: in evaluation mode.
        forward: the way through the model.
        pairs: each with one of the answers among its labels.
        meta: the special ids.
        follows: the id of one answer.
        does_not: that of the other.
    """
    num_right = 0
    plan = BatchPlan(pairs.source_lengths, pairs.target_lengths, _BATCH_TOKENS, seed=0)
    for indices in plan.in_order():
        batch = make_batch(
            pairs, indices, meta.source.pad_id, meta.target.pad_id, meta.target.bos_id
        )
        is_answer = (batch.labels == follows) | (batch.labels == does_not)  # [N]
        logits = model.output_projection(forward(model, batch)[is_answer])  # [B, V]
        says_follows = logits[:, follows] > logits[:, does_not]
        num_right += int((says_follows == (batch.labels[is_answer] == follows)).sum())
    return num_right / len(pairs.source_lengths)
