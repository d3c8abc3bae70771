"""Layer norm by the unbiased deviation: against its equation and against torch's own norm."""

import math

import pytest
import torch

from transformer.model.config import ModelConfig
from transformer.model.norm import DeviationNorm

D = 12


def make_norm(epsilon: float) -> DeviationNorm:
    torch.manual_seed(0)
    norm = DeviationNorm(D, epsilon)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    return norm


def test_it_is_torchs_norm_but_for_the_divisor():
    norm, x = make_norm(1e-12), torch.randn(3, 5, D, dtype=torch.float64)
    expected = torch.nn.functional.layer_norm(x, (D,)) * math.sqrt(1 - 1 / D)
    found = norm(x)
    torch.testing.assert_close(
        found, (norm.weight * expected + norm.bias).double(), atol=1e-4, rtol=1e-4
    )


def test_epsilon_stands_outside_the_root():
    norm = make_norm(0.5)
    x = torch.arange(D) / 10.0
    expected = norm.weight * (x - x.mean()) / (x.std(correction=1) + 0.5) + norm.bias
    torch.testing.assert_close(norm(x), expected)


def test_equal_values_give_the_bias_with_a_finite_gradient():
    norm = make_norm(1e-6)
    x = torch.full((2, D), 3.0, requires_grad=True)
    torch.testing.assert_close(norm(x), norm.bias.expand(2, D))
    norm(x).square().sum().backward()
    assert torch.isfinite(x.grad).all()


def test_half_precision_does_not_overflow():
    x = torch.linspace(-2000, 2000, D)
    norm = make_norm(1e-6)
    found = norm(x.half())
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.float(), norm(x), atol=1e-2, rtol=1e-2)


def test_one_feature_has_no_unbiased_deviation(model_maker):
    with pytest.raises(ValueError, match=r"d_model = 1 has no unbiased deviation"):
        model_maker(d_model=1, num_heads=1, position_encoding="none", layer_norm_variant="unbiased")
    assert ModelConfig.model_fields["layer_norm_variant"].is_required()
