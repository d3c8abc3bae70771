"""Masked language modelling, for an encoder (Devlin et al. 2019, arXiv:1810.04805, section 3.1).

Some tokens of a sentence are selected; the encoder is to name them from what surrounds them. Of
those, 80 % are hidden behind a mask, 10 % are other tokens, and 10 % stay, so that no token can be
trusted to be itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.text.pairs import Integers

MASKED, REPLACED = 0.8, 0.1  # the rest stays


class Masking(NamedTuple):
    """A sentence as the encoder sees it, and where it is asked."""

    ids: Integers  # int64 [L]
    is_selected: NDArray[np.bool_]  # bool [L]; the answer is the token that stood there


def mask_tokens(
    ids: Integers,
    mask_id: int,
    ordinary_ids: Integers,
    generator: np.random.Generator,
    *,
    mask_probability: float,
) -> Masking:
    """Selects tokens at random, and hides most of them.

    Args:
        ids: int64 [L], without special tokens; one token at least. It is not changed.
        mask_id: stands in no text.
        ordinary_ids: what a token may be replaced by: the vocabulary without its special tokens.
        generator: of the draws.
        mask_probability: of the tokens that are selected, in (0, 1]; one at least is.

    Raises:
        ValueError: the sentence is empty, or `mask_probability` is out of range.
    """
    if not len(ids):
        raise ValueError("an empty sentence has no tokens to mask; leave it out")
    if not 0 < mask_probability <= 1:
        raise ValueError(f"mask_probability = {mask_probability}: must be above 0, and 1 at most")
    selected = generator.choice(len(ids), max(1, round(mask_probability * len(ids))), replace=False)
    fate = generator.random(len(selected))
    others = generator.choice(ordinary_ids, len(selected))
    seen = ids.copy()
    seen[selected] = np.where(fate < MASKED + REPLACED, others, ids[selected])
    seen[selected[fate < MASKED]] = mask_id
    is_selected = np.zeros(len(ids), dtype=bool)
    is_selected[selected] = True
    return Masking(seen, is_selected)
