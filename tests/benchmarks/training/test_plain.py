"""The plain loops train the same model on the same loss as the project does."""

import numpy as np
import pytest
import torch

from benchmarks.training.plain import PlainLoop
from benchmarks.training.subject import prepare, write_synthetic_ids
from transformer.model.dropout import Dropout
from transformer.model.transformer import Transformer
from transformer.training.batching import make_batch
from transformer.training.forward import hidden_states
from transformer.training.loss import smoothed_cross_entropy
from transformer.training.variants import Variants, use_variants


@pytest.fixture
def subject(tmp_path):
    write_synthetic_ids(tmp_path / "ids", 40, 50)
    return prepare(tmp_path, tmp_path / "ids", "small", 128, "cpu", 1)


@pytest.fixture
def model(subject):
    torch.manual_seed(0)
    shape = {"d_model": 16, "d_ff": 32, "num_heads": 2, "dropout": 0.0}
    return Transformer(subject.model.model_copy(update=shape), 40, 40)


@pytest.mark.parametrize("is_tutorial", [False, True])
def test_loss_and_gradients_are_those_of_the_project(subject, model, is_tutorial):
    meta, config, train = subject.ids.meta, subject.config, subject.ids.train
    indices = np.asarray(train.source_lengths).argsort()[:6]
    batch = make_batch(train, indices, meta.source.pad_id, meta.target.pad_id, meta.target.bos_id)
    total = smoothed_cross_entropy(
        hidden_states(model, batch),
        model.output_projection.weight,
        model.output_projection.bias,
        batch.labels,
        config.label_smoothing,
    )
    wanted = total / len(batch.labels)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(wanted, parameters)
    if is_tutorial:
        use_variants(model, Variants(explicit_length=200), torch.float32)
    loop = PlainLoop(model, meta, config, 128 if is_tutorial else None)
    source, target = loop.batch(train, indices)
    assert not is_tutorial or (source.shape[1], target.shape[1]) == (128, 129)
    found = loop.loss(source, target)
    torch.testing.assert_close(found, wanted)
    for mine, theirs in zip(torch.autograd.grad(found, parameters), gradients, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("is_tutorial", [False, True])
def test_products_run_in_the_precision_of_the_config(subject, model, is_tutorial):
    if is_tutorial:
        use_variants(model, Variants(explicit_length=200), torch.float32)
    indices = np.asarray(subject.ids.train.source_lengths).argsort()[:6]
    losses, dtypes = {}, {}
    model.output_projection.register_forward_hook(
        lambda *call: dtypes.update({precision: call[2].dtype})
    )
    for precision in ("float32", "bfloat16"):
        config = subject.config.model_copy(update={"precision": precision})
        loop = PlainLoop(model, subject.ids.meta, config, 128 if is_tutorial else None)
        losses[precision] = loop.loss(*loop.batch(subject.ids.train, indices)).item()
        assert str(loop.precision) == f"torch.{precision}"
    assert dtypes == {"float32": torch.float32, "bfloat16": torch.bfloat16}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.01)


def test_all_dropout_is_pytorchs(subject, model):
    loop = PlainLoop(model, subject.ids.meta, subject.config)
    assert not any(isinstance(module, Dropout) for module in loop.model.modules())


def test_steps_lower_the_loss(subject, model):
    loop = PlainLoop(model, subject.ids.meta, subject.config)
    batch = loop.batch(
        subject.ids.train, np.asarray(subject.ids.train.source_lengths).argsort()[:6]
    )
    before = loop.loss(*batch).item()
    for _ in range(5):
        loop.step(*batch, 0.01)
    assert loop.loss(*batch).item() < before - 0.1
