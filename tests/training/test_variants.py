"""Other forms of a step's computation give the same numbers, but for rounding."""

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters
from torch.nn import functional as F

from transformer.model.attention import explicit_attention
from transformer.model.weights import model_weights
from transformer.training.batching import make_batch
from transformer.training.device import autocast
from transformer.training.forward import hidden_states
from transformer.training.loss import plain_cross_entropy, smoothed_cross_entropy
from transformer.training.trainer import Trainer
from transformer.training.variants import Variants, use_variants

TABLE = "source_embedding.tokens.weight"
ALL = Variants(explicit_length=6, plain_loss=True, narrow_residual=True)


@pytest.fixture
def plain_model(model_config):
    """Without dropout, whose masks differ from form to form."""
    return model_config.model_copy(update={"dropout": 0.0})


@pytest.mark.parametrize("form", ["all", "masked", "causal"])
def test_explicit_attention_equals_the_fused_one_with_its_gradients(form):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 4, requires_grad=True) for _ in range(3))
    mask = None
    if form == "masked":
        mask = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None, :]
    is_causal = form == "causal"
    results = [
        explicit_attention(query, key, value, mask, is_causal, 0.0),
        F.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal),
    ]
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)
    gradients = [torch.autograd.grad(one.square().sum(), (query, key, value)) for one in results]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_explicit_attention_drops_weights_as_often_as_it_is_told():
    torch.manual_seed(0)
    query, key = torch.zeros(1, 1, 400, 4), torch.zeros(1, 1, 50, 4)
    kept = explicit_attention(query, key, torch.ones(1, 1, 50, 4), None, False, 0.25)
    assert kept.mean().item() == pytest.approx(1.0, abs=0.01)  # what stays is scaled up
    assert kept.std().item() > 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("has_bias", [True, False])
def test_the_plain_loss_equals_the_usual_one_with_its_gradients(dtype, has_bias):
    torch.manual_seed(0)
    hidden, weight = torch.randn(13, 6, requires_grad=True), torch.randn(11, 6, requires_grad=True)
    bias = torch.randn(11, requires_grad=True) if has_bias else None
    leaves = [leaf for leaf in (hidden, weight, bias) if leaf is not None]
    labels = torch.randint(11, (13,))
    results = []
    for cross_entropy in (plain_cross_entropy, smoothed_cross_entropy):
        with autocast(torch.device("cpu"), dtype):
            loss = cross_entropy(hidden, weight, bias, labels, 0.1)
        assert loss.dtype == torch.float32
        results.append((loss, *torch.autograd.grad(loss, leaves)))
    tolerance = 1e-5 if dtype == torch.float32 else 0.05
    torch.testing.assert_close(*results, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_narrow_residual_changes_hidden_states_by_its_rounding_alone(
    plain_model, copy_ids, train_config, norm
):
    config = plain_model.model_copy(update={"norm": norm})
    model = Trainer(train_config(), config, copy_ids).state.model
    batch = make_batch(copy_ids.train, np.arange(8), 0, 0, 2)
    found = []
    for variants in (Variants(), Variants(narrow_residual=True)):
        use_variants(model, variants, torch.bfloat16)
        with torch.no_grad(), autocast(torch.device("cpu"), torch.bfloat16):
            found.append(hidden_states(model, batch).float())
            memory = model.encoder[0](model.source_embedding(batch.source), model.attention, None)
        assert (memory.dtype == torch.bfloat16) == variants.narrow_residual
    # bfloat16 holds 8 bits; hidden states are about 1.
    assert (found[0] - found[1]).abs().mean() < 0.02


def test_no_form_changes_what_float32_training_learns(train_config, plain_model, copy_ids):
    optimizer = train_config().optimizer.model_dump() | {"epsilon": 1e-4}
    config = train_config(optimizer=optimizer)
    usual, other = (
        Trainer(config, plain_model, copy_ids, variants=variants).run().model
        for variants in (Variants(), ALL)
    )
    for name, value in model_weights(usual).items():
        torch.testing.assert_close(model_weights(other)[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_all_forms_compiled_learn_what_none_learns_eagerly(train_config, plain_model, copy_ids):
    optimizer = train_config().optimizer.model_dump() | {"epsilon": 1e-4}
    eager = Trainer(train_config(optimizer=optimizer), plain_model, copy_ids).run().model
    compiled = (
        Trainer(
            train_config(compile=True, optimizer=optimizer), plain_model, copy_ids, variants=ALL
        )
        .run()
        .model
    )
    for name, value in model_weights(eager).items():
        torch.testing.assert_close(model_weights(compiled)[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("plain_loss", [False, True])
def test_nothing_is_compiled_once_training_has_warmed_up(
    train_config, model_config, copy_ids, monkeypatch, plain_loss
):
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **options: real(f, **options, backend="eager"))
    torch._dynamo.reset()
    trainer = Trainer(
        train_config(compile=True), model_config, copy_ids, variants=Variants(0, plain_loss)
    )
    before = model_weights(trainer.state.model)[TABLE].clone()
    counters.clear()
    trainer.warm_up()
    num_graphs = counters["stats"]["unique_graphs"]
    assert num_graphs == 2  # with padding in the source, and without
    assert torch.equal(model_weights(trainer.state.model)[TABLE], before)
    assert all(parameter.grad is None for parameter in trainer.state.model.parameters())
    shapes = set()
    for step in range(trainer.num_steps):
        batch = trainer.batches.make(step)
        shapes.add(tuple(batch.parts[0][1].source.shape + batch.parts[0][1].target.shape))
        trainer.step(batch)
    assert len(shapes) > 3
    assert counters["stats"]["unique_graphs"] == num_graphs


def test_all_kinds_of_batches_are_compiled_before_the_first_step(
    train_config, model_config, copy_ids, monkeypatch
):
    """Padded and not, each side a multiple of 8 or not, as far as the first steps have them."""
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    trainer = Trainer(train_config(compile=True), model_config, copy_ids)
    loss, seen = trainer._loss, []

    def watched(batch):
        lengths = batch.source.shape[1], batch.target.shape[1]
        seen.append((*(length % 8 == 0 for length in lengths), batch.source_mask is None))
        return loss(batch)

    monkeypatch.setattr(trainer, "_loss", watched)
    trainer.warm_up()
    occur = set()
    for step in range(trainer.num_steps):
        batch = trainer.batches.make(step).parts[0][1]
        occur.add((batch.source.shape[1] % 8 == 0, batch.target.shape[1] % 8 == 0))
    assert len(occur) > 1
    assert sorted(seen) == sorted((*kind, masked) for kind in occur for masked in (False, True))


def test_a_batch_that_memory_does_not_hold_is_told_before_the_first_step(
    train_config, model_config, copy_ids, monkeypatch
):
    def fail(batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    trainer = Trainer(train_config(compile=True), model_config, copy_ids)
    monkeypatch.setattr(trainer, "_loss", fail)
    with pytest.raises(ValueError, match=r"out of memory at step 1, .* lower train.batch_tokens"):
        trainer.run()


def test_after_the_last_step_nothing_is_left_to_compile(
    train_config, model_config, copy_ids, monkeypatch
):
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    trainer = Trainer(train_config(compile=True), model_config, copy_ids)
    trainer.state.step = trainer.num_steps
    trainer.warm_up()
    assert all(parameter.grad is None for parameter in trainer.state.model.parameters())
