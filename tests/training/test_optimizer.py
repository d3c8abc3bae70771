import pytest
import torch
from torch import nn

from transformer.training.config import OptimizerConfig
from transformer.training.optimizer import make_optimizer, set_learning_rate


@pytest.mark.parametrize(
    ("kind", "reference"), [("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam)]
)
def test_a_step_equals_pytorchs_plain_optimizer(kind, reference):
    config = OptimizerConfig(kind=kind, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.1)
    torch.manual_seed(0)
    ours, theirs = nn.Linear(3, 4, bias=False), nn.Linear(3, 4, bias=False)
    theirs.load_state_dict(ours.state_dict())
    a = make_optimizer(config, ours.parameters())
    b = reference(theirs.parameters(), lr=0.1, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)
    set_learning_rate(a, 0.1)
    x = torch.randn(5, 3)
    for model, optimizer in ((ours, a), (theirs, b)):
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_biases_do_not_decay():
    config = OptimizerConfig(kind="adamw", beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.5)
    model = nn.Linear(2, 2)
    bias, weight = model.bias.detach().clone() + 1, model.weight.detach().clone()
    model.bias.data += 1
    optimizer = make_optimizer(config, model.parameters())
    set_learning_rate(optimizer, 0.1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert torch.equal(model.bias, bias)
    torch.testing.assert_close(model.weight, weight * 0.95)
