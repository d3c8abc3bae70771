"""Batches made ahead are those that are asked for one by one."""

import threading

import pytest
import torch

from transformer.training import loader
from transformer.training.batching import BatchPlan
from transformer.training.device import choose_device
from transformer.training.distributed import Ranks
from transformer.training.loader import StepBatch, StepBatches, loading

CPU = torch.device("cpu")


@pytest.fixture
def batches(copy_ids):
    train = copy_ids.train
    plan = BatchPlan(train.source_lengths, train.target_lengths, 256, seed=1)
    assert plan.num_batches < 20
    return StepBatches(plan, train, copy_ids.meta, 3, Ranks(1, 2))


def as_values(step):
    parts = [
        (part, *(None if x is None else x.tolist() for x in batch)) for part, batch in step.parts
    ]
    return step.indices.tolist(), parts, step.num_tokens, step.num_slots


@pytest.mark.parametrize("num_ahead", [0, 1, 4])
@pytest.mark.parametrize("first_step", [0, 7])
def test_each_step_gets_its_own_batches_over_the_end_of_an_epoch(
    batches, monkeypatch, num_ahead, first_step
):
    monkeypatch.setitem(loader._NUM_AHEAD, "cpu", num_ahead)
    with loading(batches, CPU, first_step) as ahead:
        taken = [as_values(ahead.take()) for _ in range(30)]
    assert taken == [as_values(batches.make(step)) for step in range(first_step, first_step + 30)]
    assert ahead.seconds_waited > 0
    assert not [t.name for t in threading.enumerate() if t.name.startswith("loader")]


def test_tokens_and_slots_are_those_of_this_rank(batches):
    step = batches.make(3)
    assert [part for part, _ in step.parts] == [1, 3]
    labels = sum(len(batch.labels) for _, batch in step.parts)
    assert step.num_tokens == 2 * labels  # the target is the source
    assert step.num_slots == sum(b.source.numel() + b.target.numel() for _, b in step.parts)


def test_what_fails_ahead_is_raised_where_it_is_asked_for(batches, monkeypatch):
    monkeypatch.setitem(loader._NUM_AHEAD, "cpu", 2)
    make = batches.make

    def spoilt(step):
        if step == 2:
            raise OSError("the disk is gone")
        return make(step)

    monkeypatch.setattr(batches, "make", spoilt)
    with loading(batches, CPU, 0) as ahead:
        ahead.take()
        ahead.take()
        with pytest.raises(OSError, match="the disk is gone"):
            ahead.take()


def test_the_thread_chooses_the_gpu_of_the_training_and_hands_over_pinned_memory(
    batches, monkeypatch
):
    """By PyTorch's own `set_device`, which refuses a GPU without a number; the driver is faked."""
    chosen, pinned = [], []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch._C, "_cuda_setDevice", chosen.append, raising=False)
    monkeypatch.setattr(StepBatch, "pinned", lambda step: pinned.append(step.indices) or step)
    monkeypatch.setattr(StepBatch, "to", lambda step, device: step)
    device = choose_device("cuda")
    with loading(batches, device, 0) as ahead:
        taken = [as_values(ahead.take()) for _ in range(5)]
    assert taken == [as_values(batches.make(step)) for step in range(5)]
    assert chosen == [0]
    assert len(pinned) >= 5
