"""How fast models of 2017's sizes are trained on a corpus as large as news."""

import math
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.cells import Cell, Setting
from benchmarks.gpu.report import COMPARED_TOKENS
from benchmarks.gpu.timing import forget_peak, peak_gigabytes, wait
from benchmarks.training.findings import padding_share, target_speed, utilization
from benchmarks.training.run import count_tokens
from benchmarks.training.subject import LONGEST, prepare, write_synthetic_ids
from transformer.monitoring.flops import measure_product_peak
from transformer.training.loader import Loader, loading
from transformer.training.trainer import Trainer
from transformer.training.variants import Variants

TOKENS = (4_096, 25_000, 65_536, 100_000)
# Forms of a step's computation, tried at `COMPARED_TOKENS`, each alone and all together.
VARIANTS = {
    "explicit attention": Variants(explicit_length=LONGEST),
    "plain loss": Variants(plain_loss=True),
    "narrow residual": Variants(narrow_residual=True),
    "all three": Variants(LONGEST, True, True),
}
_VOCAB_SIZE, _NUM_PAIRS = 32_000, 2_000_000
_NUM_KERNELS, _NUM_TRACED = 5, 3


class _Load(NamedTuple):
    """What one cell trains."""

    shape: str
    tokens: int
    is_compiled: bool
    variants: Variants


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """The cells of `speed-base` or `speed-big`, shapes of `benchmarks.training`."""
    shape = part.removeprefix("speed-")
    tokens = (256,) if setting.is_tiny else TOKENS
    compared = tokens[0] if setting.is_tiny else COMPARED_TOKENS
    # What targets and choices hang on comes first.
    loads = {f"{compared} compiled": _Load(shape, compared, True, Variants())}
    for name, variants in reversed(VARIANTS.items()):
        loads[f"{compared} compiled, {name}"] = _Load(shape, compared, True, variants)
    for size in sorted(tokens, key=lambda size: size != compared):
        for kind, is_compiled in (("eager", False), ("compiled", True)):
            loads.setdefault(f"{size} {kind}", _Load(shape, size, is_compiled, Variants()))
    return [
        Cell(name, partial(_measure, setting, load), 120 if load.is_compiled else 30)
        for name, load in loads.items()
    ]


def _measure(setting: Setting, load: _Load) -> dict[str, Any]:
    device = setting.device
    ids_folder = _write_ids(setting)
    shape = "tiny" if setting.is_tiny else load.shape
    subject = prepare(
        setting.work, ids_folder, shape, load.tokens, device.type, torch.get_num_threads()
    )
    train = subject.ids.train
    config = subject.config.model_copy(update={"compile": load.is_compiled})
    torch._dynamo.reset()
    counters.clear()
    forget_peak(device)
    begun = time.perf_counter()
    trainer = Trainer(config, subject.model, subject.ids, variants=load.variants)
    trainer.state.model.train()
    trainer.warm_up()
    wait(device)
    values: dict[str, Any] = {"warm_up_seconds": time.perf_counter() - begun}
    num_warm_up, least_seconds, least_steps = (1, 0.0, 2) if setting.is_tiny else (30, 8.0, 20)
    with loading(trainer.batches, device, 0) as loader:
        num_graphs = -1
        while num_graphs != counters["stats"]["unique_graphs"]:  # something new was compiled
            num_graphs = counters["stats"]["unique_graphs"]
            _take(trainer, loader, num_warm_up)
        wait(device)
        waited = loader.seconds_waited
        num_slots, num_steps, indices = 0, 0, []
        started = time.perf_counter()
        while num_steps < least_steps or time.perf_counter() - started < least_seconds:
            batch = loader.take()
            trainer.step(batch)
            indices.append(batch.indices)
            num_slots += batch.num_slots
            num_steps += 1
            if num_steps % 50 == 0:
                wait(device)  # else what is told runs far ahead of what is done
        wait(device)
        seconds = time.perf_counter() - started
        waited = loader.seconds_waited - waited
        memory = peak_gigabytes(device)
        kernels = _trace(trainer, loader)
    rows = np.concatenate(indices)
    figures = count_tokens(subject, train.source_lengths[rows], train.target_lengths[rows]) | {
        "seconds": seconds,
        "num_slots": num_slots,
        "peak_flops": measure_product_peak(device, trainer.precision, repeats=3),
    }
    return values | {
        "source_tokens_per_second": figures["source_tokens"] / seconds,
        "target_tokens_per_second": target_speed(figures),
        "mfu": utilization(figures),
        "padding_share": padding_share([figures]),
        "memory_gb": memory,
        "graphs": num_graphs,
        "graphs_compiled_while_timed": counters["stats"]["unique_graphs"] - num_graphs,
        "milliseconds_a_step": seconds / num_steps * 1e3,
        "seconds_waiting_for_data": waited,
        "parameters": trainer.state.model.num_parameters(),
        "kernels": kernels,
    }


def _take(trainer: Trainer, loader: Loader, number: int) -> None:
    for _ in range(number):
        trainer.step(loader.take())


def _trace(trainer: Trainer, loader: Loader) -> list[list[Any]]:
    """The kernels that take longest: name, share of all kernels' time, calls a step."""
    is_cuda = trainer.device.type == "cuda"
    kind = ProfilerActivity.CUDA if is_cuda else ProfilerActivity.CPU
    with profile(activities=[kind]) as profiler:
        _take(trainer, loader, _NUM_TRACED)
        wait(trainer.device)
    times = [
        (
            event.self_device_time_total if is_cuda else event.self_cpu_time_total,
            str(event.key),
            event.count,
        )
        for event in profiler.key_averages()
    ]
    total = math.fsum(time for time, _, _ in times) or 1.0
    return [
        [name[:100], round(time / total, 4), round(count / _NUM_TRACED, 1)]
        for time, name, count in sorted(times, reverse=True)[:_NUM_KERNELS]
    ]


def _write_ids(setting: Setting) -> Path:
    size, num_pairs = (40, 400) if setting.is_tiny else (_VOCAB_SIZE, _NUM_PAIRS)
    folder = setting.work / f"synthetic-{size}-{num_pairs}"
    if not folder.exists():
        write_synthetic_ids(folder, size, num_pairs)
    return folder
