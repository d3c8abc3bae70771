"""Initial embeddings by a lexicon: source tokens begin near what may translate them.

A source token's vector begins as the mean of the target vectors that IBM Model 1 gives it, weighted
by p(t | s): what the decoder should say is then near what the encoder reads before either has
learned. It helps most where training is short and words are rare (docs/results/phrasebook.md).
"""

import math

import numpy as np
import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.text.lexicon import Lexicon

# How much of a source token's first vector is its lexicon's; the rest is drawn, so that words with
# the same translations differ.
SHARE = 0.8


@torch.no_grad()
def use_lexicon(model: Transformer, lexicon: Lexicon) -> None:
    """Sets the source embeddings, or those of all tokens where both sides share them.

    Every vector keeps the length that vectors are drawn with. A token without an entry keeps its
    vector. Where the sides share a table, a token that stands on both has as much of each as it
    occurs there.
    """
    target = model.target_embedding.tokens.weight  # [V, D]
    source = model.source_embedding.tokens.weight
    length = float(target.std()) * math.sqrt(target.shape[1])
    drawn = source.clone() if source is not target else torch.randn_like(source)
    by_lexicon = SHARE * _unit(_translations(lexicon, target, drawn))
    mixed = _unit(by_lexicon + math.sqrt(1 - SHARE**2) * _unit(drawn))
    has_entry = torch.zeros(len(source), 1, dtype=torch.bool)
    has_entry[torch.from_numpy(lexicon.source)] = True
    mixed = torch.where(has_entry, mixed, _unit(target if source is target else drawn))
    if source is target:
        counts = torch.tensor(lexicon.target_counts), torch.tensor(lexicon.source_counts)
        share = (counts[0] / (counts[0] + counts[1]).clamp(min=1)).float().unsqueeze(1)
        mixed = _unit(share * _unit(target) + (1 - share) * mixed)
    source.copy_(length * mixed)


def _translations(lexicon: Lexicon, target: Tensor, like: Tensor) -> Tensor:
    """The mean target vector of each source token, [V source, D]; zero without an entry."""
    means = torch.zeros_like(like)
    probability = torch.from_numpy(lexicon.probability).float()
    tokens, starts = np.unique(lexicon.source, return_index=True)
    for token, start, end in zip(tokens, starts, [*starts[1:], len(lexicon.source)], strict=True):
        translations = torch.from_numpy(lexicon.target[start:end])
        means[token] = probability[start:end] @ target[translations]
    return means


def _unit(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors, dim=1)
