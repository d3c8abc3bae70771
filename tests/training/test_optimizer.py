import pytest
import torch

from transformer.model.transformer import Transformer
from transformer.training.config import AdamConfig, MuonConfig
from transformer.training.muon import orthogonalize
from transformer.training.optimizer import make_optimizer, set_learning_rate

RATE = 0.1
ADAM = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.1}


@pytest.fixture
def models(model_config):
    """Two models of the same weights and gradients."""
    torch.manual_seed(0)
    ours, theirs = (Transformer(model_config, 20, 20) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        mine.grad = torch.randn_like(mine)
        other.grad = mine.grad.clone()
    return ours, theirs


def take_steps(*optimizers):
    for optimizer in optimizers:
        set_learning_rate(optimizer, RATE)
        for _ in range(3):
            optimizer.step()


@pytest.mark.parametrize(
    ("kind", "reference"), [("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam)]
)
def test_a_step_equals_pytorchs_plain_optimizer(models, kind, reference):
    ours, theirs = models
    matrices = [p for p in theirs.parameters() if p.ndim == 2]
    settings = {"lr": RATE, "betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": 0.1}
    take_steps(make_optimizer(AdamConfig(kind=kind, **ADAM), ours), reference(matrices, **settings))
    ours = [p for p in ours.parameters() if p.ndim == 2]
    for mine, other in zip(ours, matrices, strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_biases_do_not_decay(models, kind):
    model, _ = models
    for parameter in model.parameters():
        parameter.data += 1
        parameter.grad = torch.zeros_like(parameter)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = make_optimizer(optimizer_config(kind), model)
    set_learning_rate(optimizer, RATE)
    optimizer.step()
    for name, parameter in model.named_parameters():
        kept = 1 - RATE * 0.1 if parameter.ndim == 2 else 1.0
        torch.testing.assert_close(parameter, before[name] * kept, msg=name)


def test_muon_moves_the_matrices_of_layers_as_pytorchs_does_and_all_else_as_adamw(models):
    ours, theirs = models
    take_steps(make_optimizer(optimizer_config("muon"), ours))
    reference = make_optimizer(optimizer_config("adamw"), theirs)
    set_learning_rate(reference, RATE)
    for name, parameter in theirs.named_parameters():
        is_matrix = name.startswith(("encoder.", "decoder.")) and parameter.ndim == 2
        if not is_matrix:
            continue
        # PyTorch's knows one matrix a parameter: queries, keys and values are three.
        parts = parameter.data.chunk(3 if "in_proj" in name else 1)
        gradients = parameter.grad.chunk(len(parts))
        parameter.grad = None
        for part, gradient in zip(parts, gradients, strict=True):
            part.grad = gradient
            muon = torch.optim.Muon(
                [part],
                lr=RATE,
                weight_decay=0.1,
                momentum=0.95,
                ns_steps=3,
                adjust_lr_fn="match_rms_adamw",
            )
            take_steps(muon)
    take_steps(reference)
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        # PyTorch's computes in bfloat16; a move is up to RATE large.
        torch.testing.assert_close(mine, other, rtol=0, atol=0.05 * RATE, msg=name)


def test_orthogonalized_matrices_keep_their_directions_with_about_the_same_lengths():
    generator = torch.Generator().manual_seed(1)
    u, v = (torch.linalg.qr(torch.randn(2, 8, 8, generator=generator))[0] for _ in range(2))
    lengths = torch.linspace(1.0, 0.3, 8)
    result = u.mT @ orthogonalize(u @ (lengths[:, None] * v)) @ v.mT
    diagonal = result.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(result, torch.diag_embed(diagonal), rtol=0, atol=1e-5)
    assert diagonal.min() > 0.6
    assert diagonal.max() < 1.3


def optimizer_config(kind):
    if kind == "muon":
        return MuonConfig(kind=kind, momentum=0.95, **ADAM)
    return AdamConfig(kind=kind, **ADAM)
