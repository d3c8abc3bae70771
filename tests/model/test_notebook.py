"""The model against a direct transcription of the pre-norm notebook of `docs/literature.md`.

The notebook computes one encoder layer and one decoder layer, a line at a time, with mistakes.
Here its equations stand as they are meant; each mistake can be put back, which must change the
numbers: so what `docs/literature.md` says of them is no matter of taste.

Shapes: B batch, S source length, T target length, H heads, E head width, D width, V vocabulary.
"""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

D, H, D_FF, V = 32, 4, 48, 23
EPSILON = 1e-6
MISTAKES = [
    "divisor outside the exponential",  # encoder's table: exp(2i) * -(log 10000 / D)
    "keys times queries",  # softmax over the queries, not over the keys
    "mask of minus epsilon",  # -1e-6 for a score that should vanish
    "values through the keys' projection",  # decoder's self-attention
    "the encoder's projections for the source",  # its own three are made, but never used
    "no causal mask",
    "no mask over the source",
    "a bias of ones",  # of the norm before the attention over the source
]


@pytest.fixture(scope="module")
def model(model_maker):
    return model_maker(
        source_vocab_size=V, target_vocab_size=V, with_biases=True, num_decoder_layers=1,
        d_model=D, num_heads=H, d_ff=D_FF, norm="pre", norm_epsilon=EPSILON,
        layer_norm_variant="unbiased", position_encoding="sinusoidal", activation="relu",
        scale_embeddings=True, tie_embeddings="none", output_bias=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def batch():
    """Source [3, 5], padded in two rows; target [3, 5], of the same length as in the notebook."""
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(0, V, (3, 5), generator=generator)
    mask = torch.arange(5) < torch.tensor([5, 3, 1]).unsqueeze(1)
    return source, mask, torch.randint(0, V, (3, 5), generator=generator)


class Notebook:
    """The notebook's computation with our model's weights."""

    def __init__(self, model, *mistakes: str) -> None:
        self.model = model
        self.mistakes = mistakes

    def log_probabilities(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        """[B, S], bool [B, S], [B, T] -> [B, T, V]."""
        model = self.model
        encoder, decoder = model.encoder[0], model.decoder[0]
        self_mask = mask[:, None, None, :]  # over heads and queries
        is_misplaced = "divisor outside the exponential" in self.mistakes
        x = self.embed(model.source_embedding.tokens.weight, source, is_misplaced)
        k = self.norm(x, encoder.self_attention_residual.norm)
        x = x + self.attention(encoder.self_attention, k, k, self_mask)
        x = x + self.feed_forward(encoder, self.norm(x, encoder.feed_forward_residual.norm))
        memory = self.norm(x, model.encoder_norm)

        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        if "no causal mask" in self.mistakes:
            causal = torch.ones_like(causal)
        y = self.embed(model.target_embedding.tokens.weight, target, False)
        k = self.norm(y, decoder.self_attention_residual.norm)
        y = y + self.attention(decoder.self_attention, k, k, causal, is_decoder=True)
        q = self.norm(y, decoder.cross_attention_residual.norm)
        if "a bias of ones" in self.mistakes:
            q = q - decoder.cross_attention_residual.norm.bias + 1
        cross = decoder.cross_attention
        if "the encoder's projections for the source" in self.mistakes:
            cross = encoder.self_attention
        source_mask = None if "no mask over the source" in self.mistakes else self_mask
        y = y + self.attention(
            cross, q, memory, source_mask, output=decoder.cross_attention.out_proj
        )
        y = y + self.feed_forward(decoder, self.norm(y, decoder.feed_forward_residual.norm))
        y = self.norm(y, model.decoder_norm)
        scores = y @ model.output_projection.weight.T + model.output_projection.bias
        return F.log_softmax(scores, dim=-1)

    def embed(self, table: Tensor, ids: Tensor, is_misplaced: bool) -> Tensor:
        x = table[ids] * math.sqrt(D)
        even = torch.arange(0, D, 2, dtype=torch.float64)
        rate = -math.log(10000.0) / D
        divisor = torch.exp(even) * rate if is_misplaced else torch.exp(even * rate)
        angle = torch.arange(ids.shape[1], dtype=torch.float64).unsqueeze(1) * divisor
        table = torch.zeros(ids.shape[1], D)
        table[:, 0::2] = torch.sin(angle)
        table[:, 1::2] = torch.cos(angle)
        return x + table

    def norm(self, x: Tensor, ours) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        std = ((x - mean) ** 2).sum(-1, keepdim=True).div(D - 1).sqrt()
        return ours.weight * (x - mean) / (std + EPSILON) + ours.bias

    def attention(self, ours, query, memory, mask, output=None, is_decoder=False) -> Tensor:
        """One head after the other; `ours` holds the projections of all, queries' first."""
        w_q, w_k, w_v = ours.in_proj.weight.chunk(3)
        b_q, b_k, b_v = ours.in_proj.bias.chunk(3)
        if is_decoder and "values through the keys' projection" in self.mistakes:
            w_v, b_v = w_k, b_k
        q, k, v = query @ w_q.T + b_q, memory @ w_k.T + b_k, memory @ w_v.T + b_v
        hidden = -EPSILON if "mask of minus epsilon" in self.mistakes else -math.inf
        heads = []
        for columns in torch.arange(D).chunk(H):
            scores = q[..., columns] @ k[..., columns].transpose(-2, -1)
            if "keys times queries" in self.mistakes:
                scores = k[..., columns] @ q[..., columns].transpose(-2, -1)
            scores = scores / math.sqrt(D // H)  # [B, Q, K]
            if mask is not None:
                scores = scores.masked_fill(~mask.reshape(-1, *mask.shape[-2:]), hidden)
            heads.append(F.softmax(scores, dim=-1) @ v[..., columns])
        output = ours.out_proj if output is None else output
        return torch.cat(heads, dim=-1) @ output.weight.T + output.bias

    def feed_forward(self, layer, x: Tensor) -> Tensor:
        inner, outer = layer.feed_forward.linear1, layer.feed_forward.linear2
        return F.relu(x @ inner.weight.T + inner.bias) @ outer.weight.T + outer.bias


def test_the_model_computes_the_notebooks_equations(model, batch):
    ours = F.log_softmax(model(*batch), dim=-1)
    theirs = Notebook(model).log_probabilities(*batch)
    torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_of_the_notebook_changes_its_answer(model, batch, mistake):
    right = Notebook(model).log_probabilities(*batch)
    wrong = Notebook(model, mistake).log_probabilities(*batch)
    assert (right - wrong).abs().max() > 0.1
