"""A training that was stopped, or lost steps, ends as one that ran through: byte for byte."""

from functools import partial

import pytest
import torch

from tests.training.conftest import copies
from transformer.model.checkpoint import save_checkpoint
from transformer.training import loader
from transformer.training.batching import BatchPlan
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.problems import DivergedError
from transformer.training.state_store import StateStore
from transformer.training.trainer import Trainer

ADAM = {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0}
# Each of 14 steps at most; rows at 4, 5, 8, 10, 12, 14 unless said otherwise.
VARIANTS = {
    "plain": {},
    "accumulation": {"batch_tokens": 64, "gradient_accumulation": 3},
    "muon": {"optimizer": ADAM | {"kind": "muon", "momentum": 0.95}},
    "two passes, a moving average": {"r_drop": 3.0, "ema_decay": 0.9},
    "averaged": {"average_checkpoints": 3, "validate_every_steps": 2},
    "stopping early": {
        "learning_rate": 0.3,
        "max_steps": 200,
        "validate_every_steps": 2,
        "early_stopping_patience": 2,
        "average_checkpoints": 2,
    },
    "adam, linear, bfloat16": {
        "optimizer": ADAM,
        "schedule": {"kind": "linear", "warmup_steps": 3},
        "precision": "bfloat16",
    },
    "noam, over the end of an epoch": {
        "schedule": {"kind": "noam", "warmup_steps": 4},
        "batch_tokens": 512,
        "max_grad_norm": None,
    },
    "so many sentences, with the accuracy of epochs": {
        "batch_tokens": None,
        "batch_sentences": 80,
        "accuracy_steps": 3,
    },
    "no row until the end": {"log_every_steps": 100, "validate_every_steps": None},
}


class Killed(BaseException):
    """What nothing in the library can catch."""


class Kill:
    """Stops or kills a process after some of its own steps, between two of them."""

    def __init__(self, after, how):
        self._left, self._how = after, how

    def __call__(self):
        self._left -= 1
        if self._left >= 0:
            return False
        if self._how == "stop":
            return True
        raise Killed


def outcome(result, folder):
    save_checkpoint(folder, result.model, result.info)
    weights = (folder / "model.safetensors").read_bytes()
    return weights, result.train_rows, result.valid_rows, result.summary


def train_with_kills(folder, steps_of_each_process, how, config, model_config, ids):
    """Yields the step that each process started at, and returns the result of the last one."""
    for steps in [*steps_of_each_process, None]:
        store = StateStore(folder)
        kill = (lambda: False) if steps is None else Kill(steps, how)
        resume = Resume(lambda store=store: store.load().saved, store.save, kill)
        trainer = Trainer(config, model_config, ids, resume=resume)
        yield trainer.state.step
        if steps is None:
            return trainer.run()
        with pytest.raises(TrainingStopped if how == "stop" else Killed):
            trainer.run()
    return None


def exhaust(generator):
    """What a generator yields, and what it returns."""
    yielded = []
    while True:
        try:
            yielded.append(next(generator))
        except StopIteration as end:
            return yielded, end.value


@pytest.fixture
def config_of(train_config):
    def make(variant, **changes):
        return train_config(**{"max_steps": 14} | VARIANTS[variant] | changes)

    return make


@pytest.mark.parametrize("variant", VARIANTS)
def test_stopped_after_any_step_it_ends_as_if_it_ran_through(
    variant, tmp_path, config_of, model_config, copy_ids
):
    config = config_of(variant)
    whole = outcome(Trainer(config, model_config, copy_ids).run(), tmp_path / "whole")
    assert whole[3]["steps"] > 7
    for name, pieces, starts in (("a", [1, 3, 1, 2], [0, 1, 4, 5, 7]), ("b", [4], [0, 4])):
        killed = train_with_kills(tmp_path / name, pieces, "stop", config, model_config, copy_ids)
        started_at, result = exhaust(killed)
        assert started_at == starts
        assert outcome(result, tmp_path / f"{name} result") == whole


def test_stopped_within_an_epoch_of_other_pairs_it_ends_as_if_it_ran_through(
    tmp_path, config_of, model_config, copy_ids
):
    config = config_of("plain")
    make = partial(Trainer, config, model_config, copy_ids, resegment=lambda n: copies(400, 7 + n))
    store = StateStore(tmp_path / "states")
    with pytest.raises(TrainingStopped):
        make(resume=Resume(save=store.save, is_stop_requested=Kill(9, "stop"))).run()
    resumed = make(resume=Resume(load=lambda: store.load().saved)).run()
    whole = outcome(make().run(), tmp_path / "whole")
    assert outcome(resumed, tmp_path / "resumed") == whole
    usual = outcome(Trainer(config, model_config, copy_ids).run(), tmp_path / "usual")
    assert usual[1] != whole[1]


def test_with_two_threads_too_it_ends_as_if_it_ran_through(
    tmp_path, config_of, model_config, copy_ids
):
    torch.set_num_threads(2)  # and back after it, see conftest.py
    # Large enough for PyTorch to share out its products, norms, sums and the optimizer's step.
    config = config_of("plain", batch_tokens=512, max_steps=5)
    model_config = model_config.model_copy(update={"d_model": 128, "d_ff": 256, "num_heads": 4})
    whole = outcome(Trainer(config, model_config, copy_ids).run(), tmp_path / "whole")
    killed = train_with_kills(tmp_path / "a", [2, 1], "stop", config, model_config, copy_ids)
    started_at, result = exhaust(killed)
    assert started_at == [0, 2, 3]
    assert outcome(result, tmp_path / "result") == whole


@pytest.mark.parametrize("variant", VARIANTS)
def test_killed_with_steps_lost_it_ends_as_if_it_ran_through(
    variant, tmp_path, config_of, model_config, copy_ids, monkeypatch
):
    config = config_of(variant, save_every_seconds=0)
    whole = outcome(Trainer(config, model_config, copy_ids).run(), tmp_path / "whole")
    save = StateStore.save

    def save_some(store, saved):
        if saved.step % 3 == 0:
            save(store, saved)

    monkeypatch.setattr(StateStore, "save", save_some)
    killed = train_with_kills(
        tmp_path / "states", [2, 5, 2, 4], "kill", config, model_config, copy_ids
    )
    started_at, result = exhaust(killed)
    assert started_at == [0, 0, 3, 3, 6]
    assert outcome(result, tmp_path / "result") == whole


@pytest.mark.parametrize("num_ahead", [0, 1, 3])
def test_no_batch_is_lost_or_seen_twice(
    num_ahead, tmp_path, config_of, model_config, copy_ids, monkeypatch
):
    monkeypatch.setitem(loader._NUM_AHEAD, "cpu", num_ahead)
    config = config_of("noam, over the end of an epoch")
    seen = []
    step = Trainer._step

    def watch(trainer, batch):
        seen.append(batch.indices.tolist())
        step(trainer, batch)

    monkeypatch.setattr(Trainer, "_step", watch)
    killed = train_with_kills(tmp_path, [2, 7, 1], "stop", config, model_config, copy_ids)
    exhaust(killed)
    lengths = copy_ids.train.source_lengths, copy_ids.train.target_lengths
    plan = BatchPlan(*lengths, config.batch_tokens, config.seed)
    assert plan.num_batches < config.max_steps
    planned = [batch.tolist() for epoch in range(3) for batch in plan.epoch(epoch)]
    assert seen == planned[: config.max_steps]


def test_states_are_saved_as_often_as_asked(train_config, model_config, copy_ids, monkeypatch):
    now = 0.0

    def monotonic():
        nonlocal now
        now += 1.0
        return now

    monkeypatch.setattr("transformer.training.trainer.time.monotonic", monotonic)
    steps = {}
    for every in (0.0, 5.0, 1e9):
        saved = []
        config = train_config(save_every_seconds=every)
        Trainer(config, model_config, copy_ids, resume=Resume(save=saved.append)).run()
        steps[every] = [state.step for state in saved]
    assert steps[0.0] == list(range(1, 12))  # the last step ends training
    assert 2 <= len(steps[5.0]) < 6
    assert steps[1e9] == []


def test_a_stop_before_the_first_step_saves_nothing(train_config, model_config, copy_ids):
    saved = []
    resume = Resume(save=saved.append, is_stop_requested=lambda: True)
    with pytest.raises(TrainingStopped, match="stopped after step 0 of 12"):
        Trainer(train_config(), model_config, copy_ids, resume=resume).run()
    assert saved == []


def test_a_stop_without_a_place_to_save_stops(train_config, model_config, copy_ids):
    resume = Resume(is_stop_requested=Kill(3, "stop"))
    with pytest.raises(TrainingStopped, match="stopped after step 3 of 12"):
        Trainer(train_config(), model_config, copy_ids, resume=resume).run()


def test_what_is_not_finite_is_never_saved(train_config, model_config, copy_ids, monkeypatch):
    saved = []
    config = train_config(save_every_seconds=0, log_every_steps=100, validate_every_steps=None)
    trainer = Trainer(config, model_config, copy_ids, resume=Resume(save=saved.append))
    loss = trainer._loss

    def poisoned(batch):
        value, hidden = loss(batch)
        return value * (float("nan") if trainer.state.step == 2 else 1.0), hidden

    monkeypatch.setattr(trainer, "_loss", poisoned)
    with pytest.raises(DivergedError, match="step 3"):
        trainer.run()
    assert [state.step for state in saved] == [1, 2]
