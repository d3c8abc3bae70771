import pytest
import torch

from transformer.model.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_drops_at_its_rate_and_keeps_the_expectation(rate):
    torch.manual_seed(0)
    dropped = Dropout(rate)(torch.ones(1000, 1000))
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.004)
    assert dropped.mean().item() == pytest.approx(1, abs=0.005)
    assert len(dropped.unique()) == 2


def test_every_position_is_dropped_at_the_same_rate():
    torch.manual_seed(0)
    kept = Dropout(0.5)(torch.ones(20_000, 16)).bool().float().mean(0)
    torch.testing.assert_close(kept, torch.full((16,), 0.5), atol=0.02, rtol=0)


def test_dropout_is_the_identity_outside_training():
    x = torch.randn(3, 5)
    layer = Dropout(0.5).eval()
    assert torch.equal(layer(x), x)
    assert torch.equal(layer.add(x, x), x + x)


def test_a_rate_of_zero_draws_nothing():
    x = torch.randn(3, 5)
    state = torch.random.get_rng_state()
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_one_seed_gives_one_mask():
    layer, x = Dropout(0.3), torch.ones(7, 13)
    torch.manual_seed(1)
    first, second = layer(x), layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)


def test_adding_to_a_residual_equals_dropout_then_sum_with_gradients():
    layer = Dropout(0.3)
    results = []
    for is_fused in (True, False):
        torch.manual_seed(2)
        residual = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        y = layer.add(residual, x) if is_fused else residual + layer(x)
        (y * torch.arange(24.0, dtype=torch.float64).view(4, 6)).sum().backward()
        results.append((y.detach(), residual.grad, x.grad))
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain)


def test_dropout_works_where_a_bfloat16_branch_meets_a_float32_residual():
    residual = torch.ones(8, 8, requires_grad=True)
    x = torch.ones(8, 8, dtype=torch.bfloat16, requires_grad=True)
    Dropout(0.5).add(residual, x).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.bfloat16
    assert residual.grad is not None
    assert residual.grad.dtype == torch.float32
