from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.conftest import dataset
from transformer.model.checkpoint import save_checkpoint
from transformer.model.weights import model_weights
from transformer.text.ids import Ids
from transformer.training.batching import BatchPlan, make_batch
from transformer.training.forward import hidden_states
from transformer.training.observer import Observer
from transformer.training.problems import DivergedError
from transformer.training.sentence_batches import make_plan
from transformer.training.trainer import Trainer, mask_seed


@pytest.fixture
def plain_model(model_config):
    """Without dropout: whose masks depend on how a batch is cut."""
    return model_config.model_copy(update={"dropout": 0.0})


class Record(Observer):
    """Keeps what it hears."""

    def __init__(self):
        self.events = []

    def on_start(self, num_steps, num_parameters, step):
        self.events.append(("start", num_steps))

    def on_ready(self, seconds):
        self.events.append(("ready", seconds))

    def on_step(self, batch, seconds_waited):
        assert seconds_waited > 0
        self.events.append(("step", batch.num_tokens))

    def on_log(self, row):
        self.events.append(("log", row.step))

    def on_validation(self, row):
        self.events.append(("validation", row.step))

    def on_end(self):
        self.events.append(("end", 0))


def assert_same_weights(first, second, **tolerances):
    a, b = model_weights(first), model_weights(second)
    assert a.keys() == b.keys()
    for name, value in a.items():
        torch.testing.assert_close(value, b[name], **tolerances)


def test_the_same_inputs_give_the_same_bytes(tmp_path, train_config, model_config, copy_ids):
    files = []
    for name in ("a", "b"):
        result = Trainer(train_config(average_checkpoints=2), model_config, copy_ids).run()
        save_checkpoint(tmp_path / name, result.model, result.info)
        files.append((tmp_path / name / "model.safetensors").read_bytes())
        files.append((result.train_rows, result.valid_rows, result.summary))
    assert files[:2] == files[2:]


def test_another_seed_gives_another_model(train_config, model_config, copy_ids):
    losses = {
        Trainer(train_config(seed=seed), model_config, copy_ids).run().summary["valid_loss"]
        for seed in (1, 2)
    }
    assert len(losses) == 2


def test_half_the_batch_with_twice_the_accumulation_is_the_same_training(
    train_config, plain_model, copy_ids
):
    # Exact in exact arithmetic; Adam blows up the rounding of tiny gradients, hence its epsilon.
    optimizer = train_config().optimizer.model_dump() | {"epsilon": 1e-4}
    whole = Trainer(train_config(optimizer=optimizer), plain_model, copy_ids).run()
    for parts in (2, 4):
        config = train_config(
            batch_tokens=128 // parts, gradient_accumulation=parts, optimizer=optimizer
        )
        cut = Trainer(config, plain_model, copy_ids).run()
        assert_same_weights(cut.model, whole.model, rtol=1e-4, atol=1e-5)


def test_the_loss_ignores_padding(model_config, train_config, copy_ids):
    trainer = Trainer(train_config(), model_config, copy_ids)
    model = trainer.state.model.eval()
    train = copy_ids.train
    lengths = np.asarray(train.source_lengths)
    sentences = np.array([int(lengths.argmin()), int(lengths.argmax())])
    together = make_batch(train, sentences, 0, 0, 2)
    assert together.source_mask is not None
    alone = [make_batch(train, sentences[i : i + 1], 0, 0, 2) for i in (0, 1)]
    with torch.no_grad():
        joined = torch.cat([hidden_states(model, batch) for batch in alone])
        torch.testing.assert_close(hidden_states(model, together), joined)


def test_early_stopping_keeps_the_best_weights(train_config, model_config, copy_ids):
    # A rate that soon does harm.
    config = train_config(
        learning_rate=0.3,
        max_steps=200,
        validate_every_steps=2,
        early_stopping_patience=2,
    )
    result = Trainer(config, model_config, copy_ids).run()
    losses = [row.valid_loss for row in result.valid_rows]
    best = int(np.argmin(losses))
    assert len(losses) == best + 3
    assert result.summary["steps"] < 200
    assert result.summary["saved_step"] == result.valid_rows[best].step
    stopped_at_best = Trainer(
        config.model_copy(
            update={"max_steps": result.summary["saved_step"], "early_stopping_patience": None}
        ),
        model_config,
        copy_ids,
    ).run()
    assert_same_weights(result.model, stopped_at_best.model, rtol=0, atol=0)


def test_the_saved_weights_are_the_mean_of_the_last_validations(
    train_config, model_config, copy_ids
):
    def train(**changes):
        return Trainer(train_config(**changes), model_config, copy_ids).run().model

    averaged = train(average_checkpoints=2)
    latest = [model_weights(train(max_steps=steps)) for steps in (8, 12)]
    for name, value in model_weights(averaged).items():
        torch.testing.assert_close(value, (latest[0][name] + latest[1][name]) / 2)


def test_rows_come_at_their_steps_with_a_validation_at_the_end(
    train_config, model_config, copy_ids
):
    record = Record()
    config = train_config(max_steps=11, validate_every_steps=5, log_every_steps=3)
    result = Trainer(config, model_config, copy_ids, record).run()
    assert [row.step for row in result.train_rows] == [3, 5, 6, 9, 10, 11]
    assert [row.step for row in result.valid_rows] == [5, 10, 11]
    assert record.events[:2] == [("start", 11), ("ready", 0.0)]
    assert sum(kind == "step" for kind, _ in record.events) == 11
    assert record.events[-1] == ("end", 0)
    assert [step for kind, step in record.events if kind == "validation"] == [5, 10, 11]


def test_without_a_number_of_steps_validation_closes_each_epoch(
    train_config, model_config, copy_ids
):
    config = train_config(max_steps=None, max_epochs=2, validate_every_steps=None)
    result = Trainer(config, model_config, copy_ids).run()
    plan = BatchPlan(copy_ids.train.source_lengths, copy_ids.train.target_lengths, 128, 1)
    steps = [row.step for row in result.valid_rows]
    assert steps == [plan.num_batches, 2 * plan.num_batches]
    assert result.summary["epochs"] == 2


def test_a_row_has_the_mean_of_the_steps_since_the_last(train_config, model_config, copy_ids):
    def rows(every):
        config = train_config(max_steps=6, log_every_steps=every)
        return Trainer(config, model_config, copy_ids).run().train_rows

    norms = [row.gradient_norm for row in rows(1)]
    means = [sum(norms[n : n + 2]) / 2 for n in (0, 2, 4)]
    assert [row.gradient_norm for row in rows(2)] == pytest.approx(means)


def test_logging_more_often_changes_nothing(train_config, model_config, copy_ids):
    models = [
        Trainer(train_config(log_every_steps=every), model_config, copy_ids).run().model
        for every in (1, 100)
    ]
    assert_same_weights(*models, rtol=0, atol=0)


def test_what_is_not_finite_stops_training_with_step_batch_rate(
    train_config, model_config, copy_ids, monkeypatch
):
    trainer = Trainer(train_config(max_steps=50, log_every_steps=4), model_config, copy_ids)
    loss, calls = trainer._loss, []

    def poisoned(batch):
        calls.append(batch)
        value, hidden = loss(batch)
        return value * (float("nan") if len(calls) == 3 else 1.0), hidden

    monkeypatch.setattr(trainer, "_loss", poisoned)
    with pytest.raises(
        DivergedError, match=r"not finite at step 3, batch of \d+ pairs, .* learning rate 0.001"
    ):
        trainer.run()
    assert len(calls) == 4


def test_out_of_memory_is_told_with_the_batch_and_what_to_lower(
    train_config, model_config, copy_ids, monkeypatch
):
    trainer = Trainer(train_config(gradient_accumulation=4), model_config, copy_ids)
    loss = trainer._loss
    shapes = []

    def full(batch):
        if trainer.state.step == 2:
            shapes.append((*batch.source.shape, batch.target.shape[1]))
            if len(shapes) == 4:  # the longest sentences, in the last part
                raise torch.OutOfMemoryError("CUDA out of memory")
        return loss(batch)

    monkeypatch.setattr(trainer, "_loss", full)
    with pytest.raises(ValueError, match="out of memory at step 3") as caught:
        trainer.run()
    pairs, source, target = max(shapes, key=lambda shape: shape[0] * (shape[1] + shape[2]))
    assert (
        f"batch of {pairs} pairs, up to {source} source and {target} target tokens; lower "
        "train.batch_tokens = 128 and raise train.gradient_accumulation = 4 by the same factor"
    ) in str(caught.value)


def test_bfloat16_trains_too(train_config, model_config, copy_ids):
    half, full = (
        Trainer(train_config(precision=name), model_config, copy_ids).run().summary["valid_loss"]
        for name in ("bfloat16", "float32")
    )
    assert half == pytest.approx(full, rel=0.02)
    assert half != full


@pytest.mark.slow
def test_a_compiled_model_trains_like_an_eager_one(train_config, plain_model, copy_ids):
    optimizer = train_config().optimizer.model_dump() | {"epsilon": 1e-4}
    eager, compiled = (
        Trainer(train_config(compile=flag, optimizer=optimizer), plain_model, copy_ids).run().model
        for flag in (False, True)
    )
    assert_same_weights(compiled, eager, rtol=1e-4, atol=1e-5)


def test_too_few_positions_for_the_data_are_refused(train_config, model_config, copy_ids):
    small = model_config.model_copy(update={"max_positions": 5})
    with pytest.raises(ValueError, match=r"longest source of train has 8 .*max_positions = 5"):
        Trainer(train_config(), small, copy_ids).run()


def no_longer_than(pairs, longest):
    """The pairs of a corpus of copies that have at most so many tokens."""
    sentences = np.split(pairs.source_ids, pairs.source_offsets[1:-1])
    kept = [sentence.tolist() for sentence in sentences if len(sentence) <= longest]
    return dataset(kept, kept)


def test_validation_leaves_out_what_does_not_fit(train_config, model_config, copy_ids):
    short = Ids(
        *(no_longer_than(pairs, 5) for pairs in (copy_ids.train, copy_ids.valid)), copy_ids.meta
    )
    small = model_config.model_copy(update={"max_positions": 5})
    expected = Trainer(train_config(), small, short).run()
    found = Trainer(train_config(), small, replace(short, valid=copy_ids.valid)).run()
    assert found.valid_rows == expected.valid_rows
    num_left_out = len(copy_ids.valid) - len(short.valid)
    assert num_left_out > 0
    assert found.summary == expected.summary | {"valid_pairs_too_long": num_left_out}


def test_validation_text_that_fits_nowhere_is_refused(train_config, model_config, copy_ids):
    train = no_longer_than(copy_ids.train, 2)
    long = replace(copy_ids, train=train, valid=dataset([[4, 5, 3]], [[4, 5, 3]]))
    tiny = model_config.model_copy(update={"max_positions": 2})
    with pytest.raises(ValueError, match=r"every pair of valid is longer .*max_positions = 2"):
        Trainer(train_config(), tiny, long).run()


def test_a_vocabulary_that_can_not_be_tied_is_refused(train_config, model_config, copy_ids):
    ids = replace(copy_ids, meta=replace(copy_ids.meta, source_vocab_size=30))
    with pytest.raises(ValueError, match="needs one joint vocabulary"):
        Trainer(train_config(), model_config, ids).run()


def test_mask_seeds_differ_by_seed_step_part():
    seeds = {mask_seed(a, b, c) for a in range(4) for b in range(4) for c in range(4)}
    assert len(seeds) == 64
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_tiny_model_learns_to_copy(train_config, model_config, copy_ids):
    config = train_config(
        max_steps=600,
        batch_tokens=256,
        learning_rate=5e-3,
        schedule={"kind": "linear", "warmup_steps": 60},
        validate_every_steps=200,
        log_every_steps=100,
        label_smoothing=0.0,
    )
    model = model_config.model_copy(update={"dropout": 0.0, "num_encoder_layers": 2})
    result = Trainer(config, model, copy_ids).run()
    assert result.valid_rows[-1].accuracy > 0.95


def test_accuracy_is_the_mean_over_the_last_steps_of_each_epoch(
    train_config, model_config, copy_ids
):
    """Held against the model itself: at such a rate it stays as it began, and nothing drops out."""
    config = train_config(
        batch_tokens=None, batch_sentences=64, accuracy_steps=3, learning_rate=1e-12, max_steps=16
    )  # 400 pairs: 7 steps an epoch, the last of 16 pairs
    plain = model_config.model_copy(update={"dropout": 0.0})
    trainer = Trainer(config, plain, copy_ids)
    model, pairs, meta = trainer.state.model, copy_ids.train, copy_ids.meta
    plan = make_plan(config, pairs.source_lengths, pairs.target_lengths)
    expected = {}
    for epoch in (0, 1):
        shares = []
        for indices in list(plan.epoch(epoch))[-3:]:
            batch = make_batch(pairs, indices, *(meta.source.pad_id, meta.target.pad_id), 2)
            with torch.no_grad():
                logits = model.project(hidden_states(model, batch))
            shares.append((logits.argmax(1) == batch.labels).float().mean().item())
        expected[f"epoch_{epoch + 1}"] = round(sum(shares) / 3, 6)
    assert trainer.run().summary["train_accuracy"] == pytest.approx(expected, abs=1e-5)
    assert len({*expected.values()}) == 2


def test_measuring_accuracy_changes_nothing_else(train_config, model_config, copy_ids):
    plain, measured = (
        Trainer(train_config(accuracy_steps=steps), model_config, copy_ids).run()
        for steps in (None, 1)
    )
    assert_same_weights(plain.model, measured.model, rtol=0, atol=0)
    assert measured.train_rows == plain.train_rows
    assert "train_accuracy" not in plain.summary


def test_dropout_is_on_while_accuracy_is_measured(train_config, model_config, copy_ids):
    def accuracy(dropout):
        config = train_config(accuracy_steps=9, learning_rate=1e-12, max_steps=40)
        model = model_config.model_copy(update={"dropout": dropout})
        return Trainer(config, model, copy_ids).run().summary["train_accuracy"]["epoch_1"]

    assert accuracy(0.0) != accuracy(0.5)
