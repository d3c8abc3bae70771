"""The meter's figures are those of the steps between two readings."""

import types

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from transformer.monitoring import throughput
from transformer.monitoring.flops import training_flops
from transformer.monitoring.throughput import Meter, peak_memory_bytes
from transformer.training.distributed import Ranks
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.loader import loading
from transformer.training.reporting import TrainRow, ValidRow
from transformer.training.state_store import StateStore
from transformer.training.trainer import Trainer

CPU = torch.device("cpu")


def test_the_figures_are_those_of_the_steps_since_the_row_before(
    train_config, model_config, copy_ids, speeds, monkeypatch
):
    now = 0.0
    clock = types.SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(throughput, "time", clock)
    peak = 1e9
    trainer = Trainer(train_config(), model_config, copy_ids)
    train = copy_ids.train
    meter = Meter(model_config, copy_ids, CPU, Ranks(), peak, [speeds])
    meter.on_ready(90.0)
    with loading(trainer.batches, CPU, 0) as loader:
        for first, last in ((0, 3), (3, 5)):
            batches = [loader.take() for _ in range(first, last)]
            for batch in batches:
                meter.on_step(batch, 7.0 * last)
            now += 2.0
            meter.on_log(TrainRow(last, 1.0, 0.1, 1.0))
            now += 1.0
            meter.on_validation(ValidRow(last, 1.0, 2.7, 0.5))
            step, speed = speeds.heard[-1]
            source = [n for b in batches for n in train.source_lengths[b.indices]]
            target = [n for b in batches for n in train.target_lengths[b.indices]]
            slots = sum(
                b.parts[0][1].source.numel() + b.parts[0][1].target.numel() for b in batches
            )
            flops = training_flops(model_config, copy_ids.meta.target_vocab_size, source, target)
            assert step == last
            assert speed.tokens_per_second == (sum(source) + sum(target)) / 2.0
            assert speed.mfu == pytest.approx(flops / 2.0 / peak)
            assert speed.padding_share == pytest.approx(1 - (sum(source) + sum(target)) / slots)
            assert speed.seconds == 90.0 + now - 1.0
            assert speed.seconds_waiting_for_data == pytest.approx(7.0 * (last - first))


def test_what_was_not_measured_is_left_out(train_config, model_config, copy_ids, speeds):
    meter = Meter(model_config, copy_ids, CPU, Ranks(), reporters=[speeds])
    Trainer(train_config(), model_config, copy_ids, meter).run()
    assert [step for step, _ in speeds.heard] == [4, 5, 8, 10, 12]
    for _, speed in speeds.heard:
        assert speed.mfu is None
        assert "mfu" not in speed.figures()
        assert 0 <= speed.padding_share < 1
        assert 0 < speed.seconds_waiting_for_data < speed.seconds


def test_speed_and_time_leave_out_what_was_lost(
    tmp_path, train_config, model_config, copy_ids, speeds
):
    store = StateStore(tmp_path)
    config = train_config(max_steps=8, log_every_steps=1)
    calls = iter(range(9))
    resume = Resume(save=store.save, is_stop_requested=lambda: next(calls) == 5)
    with pytest.raises(TrainingStopped):
        Trainer(config, model_config, copy_ids, resume=resume).run()
    saved = store.load().saved
    saved.values["seconds"] = 1000.0
    meter = Meter(model_config, copy_ids, CPU, Ranks(), reporters=[speeds])
    Trainer(config, model_config, copy_ids, meter, resume=Resume(lambda: saved)).run()
    assert speeds.start == 5
    assert [step for step, _ in speeds.heard] == [6, 7, 8]
    seconds = [speed.seconds for _, speed in speeds.heard]
    assert 1000 < seconds[0] < seconds[1] < seconds[2] < 1100
    assert all(speed.tokens_per_second > 100 for _, speed in speeds.heard)


def test_the_peak_of_memory_is_in_bytes_and_never_falls():
    before = peak_memory_bytes(CPU)
    held = torch.ones(64 << 20, dtype=torch.uint8)
    after = peak_memory_bytes(CPU)
    del held
    assert 2**26 < before <= after < 2**36
    assert peak_memory_bytes(CPU) >= after


class Reads(TorchDispatchMode):
    """Counts what would make a process wait for its GPU."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique")

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in self.WAITING:
            self.names.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("max_grad_norm", [None, 1.0])
def test_a_step_reads_nothing_from_the_device_and_a_row_does(
    train_config, model_config, copy_ids, max_grad_norm
):
    config = train_config(max_grad_norm=max_grad_norm, gradient_accumulation=2)
    trainer = Trainer(config, model_config, copy_ids)
    trainer.state.model.train()
    with loading(trainer.batches, CPU, 0) as loader, Reads() as reads:
        for _ in range(4):
            trainer.step(loader.take())
        assert reads.names == []
        trainer._read()
        assert reads.names.count("_local_scalar_dense") == 3
