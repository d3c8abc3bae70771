"""Attention: against its equation, and against torch.nn with the same weights."""

import math

import pytest
import torch
from torch import nn

from transformer.model.attention import MultiHeadAttention, TorchAttention, join_heads


def plain_attention(query, key, value, mask):
    """Equation 1 of 2017, written out; mask bool, True may be attended to."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ value


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("explicit_length", [0, 100])
def test_attention_is_softmax_of_scaled_products(explicit_length):
    attention = TorchAttention(3, explicit_length)
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
    mask = torch.rand(2, 1, 5, 7) > 0.3
    mask[..., 0] = True
    ours = attention.attend(join_heads(query), key, value, mask)
    torch.testing.assert_close(ours, join_heads(plain_attention(query, key, value, mask)))


@pytest.mark.parametrize("explicit_length", [0, 100])
def test_causal_attention_sees_no_later_key(explicit_length):
    parts = torch.randn(3, 2, 3, 6, 4)
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    attention = TorchAttention(3, explicit_length)
    ours = attention.attend(*map(join_heads, parts), None, is_causal=True)
    torch.testing.assert_close(ours, join_heads(plain_attention(*parts, mask)))


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Gives torch's attention the weights of ours."""
    theirs.in_proj_weight.data.copy_(ours.in_proj.weight)
    theirs.in_proj_bias.data.copy_(ours.in_proj.bias)
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())


@pytest.mark.parametrize("num_heads", [1, 4])
def test_self_attention_equals_torch(num_heads):
    ours = MultiHeadAttention(16, 0.0).eval()
    theirs = nn.MultiheadAttention(16, num_heads, batch_first=True).eval()
    nn.init.normal_(ours.in_proj.bias)
    copy_attention(ours, theirs)
    x = torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    expected, _ = theirs(x, x, x, key_padding_mask=~real, need_weights=False)
    attention = TorchAttention(num_heads)
    torch.testing.assert_close(ours(x, attention, attention.mask(real, x.dtype)), expected)


def test_cross_attention_equals_torch():
    ours = MultiHeadAttention(16, 0.0).eval()
    theirs = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    copy_attention(ours, theirs)
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    expected, _ = theirs(x, memory, memory, need_weights=False)
    answer = ours.cross(x, TorchAttention(4), *ours.project_memory(memory, 4), None)
    torch.testing.assert_close(answer, expected)


def test_attention_dropout_is_off_in_evaluation():
    ours, attention = MultiHeadAttention(16, 0.5), TorchAttention(4)
    x = torch.randn(2, 5, 16)
    trained = ours(x, attention)
    ours.eval()
    evaluated = ours(x, attention)
    assert not torch.equal(trained, evaluated)
    assert torch.equal(evaluated, ours(x, attention))
