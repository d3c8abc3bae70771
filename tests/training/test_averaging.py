import pytest
import torch
from torch import nn

from transformer.model.weights import model_weights, set_weights
from transformer.training.averaging import MovingAverage, WeightAverage


def test_the_mean_is_over_the_latest_snapshots():
    average = WeightAverage(2)
    for value in (100.0, 1.0, 3.0):
        average.add({"a": torch.full((2,), value)})
    assert average.mean()["a"].tolist() == [2.0, 2.0]


def test_a_snapshot_does_not_follow_the_weights():
    average, weight = WeightAverage(1), torch.zeros(2)
    average.add({"a": weight})
    weight += 1
    assert average.mean()["a"].tolist() == [0.0, 0.0]


def test_the_mean_of_one_is_itself_bit_for_bit():
    average, weight = WeightAverage(3), torch.randn(100)
    average.add({"a": weight})
    assert torch.equal(average.mean()["a"], weight)


def test_weights_can_be_taken_from_a_model_into_another():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    set_weights(second, model_weights(first))
    assert torch.equal(first.weight, second.weight)


def test_a_moving_average_forgets_by_its_decay_and_the_initial_weights_sooner():
    weight = torch.zeros(2, dtype=torch.float64)
    moving, expected = MovingAverage({"a": weight}, 0.7), 0.0
    for step in range(1, 40):
        weight += 1
        moving.update({"a": weight}, step)
        decay = min(0.7, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    assert moving.weights["a"].tolist() == pytest.approx([expected] * 2)
    # In the long run it lags behind by decay / (1 - decay) steps.
    assert 39 - expected == pytest.approx(0.7 / 0.3, rel=0.01)
