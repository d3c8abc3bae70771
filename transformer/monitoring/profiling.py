"""Where the time of a training step goes: a trace for the browser, and a page that sums it up."""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from transformer.monitoring.throughput import Meter, Speed
from transformer.training.loader import loading
from transformer.training.trainer import Trainer

TRACE, SUMMARY = "trace.json.gz", "summary.md"
# The first steps wake threads, grow memory, compile; then some are timed, and some are traced.
NUM_WARM_UP, NUM_TIMED, NUM_TRACED = 10, 20, 5
_NUM_OPERATORS = 25
# The first pattern that is found in an operator's name decides.
_GROUPS = {
    "autograd's bookkeeping": r"^autograd::engine|^(?!.*::).*backward\d*$|accumulategrad",
    "exchange between ranks": r"gloo|nccl|c10d|all_?reduce",
    "optimizer": r"adam|optimizer|_foreach",
    "attention": r"scaled_dot_product|flash_attention|efficient_attention|cudnn_attention",
    "matrix products": r"::(add)?mm_?$|::(ba)?d?d?bmm$|::linear$|::matmul$|::mv$|gemm",
    "softmax and loss": r"softmax|logsumexp|crossentropy|cross_entropy|::gather|::scatter"
    r"|::amax|::max$",
    "dropout": r"dropout|::random_|::bernoulli|::ge$|mask",
    "normalization": r"layer_norm|rms_norm|layernorm|::std|::var|::rsqrt|::norm",
    "embedding": r"embedding|::index_select|::index_add|::index$",
    "compiled kernels": r"triton|inductor|compiledfunction|torch-compiled",
    "views": r"::(transpose|slice|view|as_strided|t|expand|unsqueeze|squeeze|select|reshape|permute"
    r"|chunk|split|detach|alias|flatten|unflatten|narrow|unsafe_split|_unsafe_view)_?$",
    "copies and memory": r"copy_?$|::zero_|::zeros|::fill_|::ones|::cat$|::clone|::contiguous"
    r"|::empty|::resize|::full|memcpy|memset|pin_memory|::_to_",
    "elementwise": r"::(mul|add|sub|div|relu|gelu|threshold|neg|log|exp|sum|mean|addcmul|where)"
    r"(_backward)?_?$",
}
_OTHER = "other"


class OperatorTime(NamedTuple):
    """All calls of one operator; what it called itself is not counted."""

    name: str
    num_calls: int
    seconds: float


def profile_training(trainer: Trainer, meter: Meter, folder: Path, is_first: bool) -> str:
    """Takes some steps of a training that has just been made, and writes what they cost.

    The trace is Chrome's format, gzipped: ui.perfetto.dev and chrome://tracing open it. Of several
    ranks each calls this; the first one writes.

    Args:
        trainer: its weights change, and it can't be used for training any more.
        meter: of that training.
        folder: for `trace.json.gz` and `summary.md`; made if missing.
        is_first: whether this rank writes.

    Returns:
        The summary; empty on the other ranks.
    """
    activities = [ProfilerActivity.CPU]
    if trainer.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    trainer.state.model.train()
    trainer.warm_up()
    with loading(trainer.batches, trainer.device, 0) as loader:

        def take_steps(number: int) -> float:
            start = time.perf_counter()
            for _ in range(number):
                batch = loader.take()
                trainer.step(batch)
                meter.on_step(batch, loader.seconds_waited)
            _wait(trainer.device)
            return (time.perf_counter() - start) / number

        take_steps(NUM_WARM_UP)
        meter.restart()
        seconds = take_steps(NUM_TIMED)
        speed = meter.read()
        if not is_first:
            take_steps(NUM_TRACED)
            return ""
        with profile(activities=activities) as profiler:
            seconds_traced = take_steps(NUM_TRACED)
    folder.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(folder / TRACE))
    times = [
        OperatorTime(
            event.key,
            event.count,
            (
                event.self_device_time_total
                if trainer.device.type == "cuda"
                else event.self_cpu_time_total
            )
            / 1e6,
        )
        for event in profiler.key_averages()
        if event.device_type.name == "CPU"  # a GPU's kernels count for what called them
    ]
    text = describe(trainer, speed, seconds, seconds_traced, times)
    (folder / SUMMARY).write_text(text, encoding="utf-8")
    return text


def describe(
    trainer: Trainer,
    speed: Speed,
    seconds: float,
    seconds_traced: float,
    times: Sequence[OperatorTime],
) -> str:
    """The page.

    Args:
        trainer: what was measured.
        speed: of the timed steps.
        seconds: of one of them.
        seconds_traced: of one step with the profiler on, which slows it.
        times: of all traced steps.
    """
    state, peak = trainer.state, speed.mfu
    figures = [
        ["seconds a step", f"{seconds:.4f} ({seconds_traced:.4f} with the profiler on)"],
        ["real source + target tokens a second", f"{speed.tokens_per_second:,.0f}"],
        ["FLOP utilisation", "not measured" if peak is None else f"{peak:.1%} of the peak"],
        ["share of padding", f"{speed.padding_share:.1%}"],
        ["waiting for data", f"{speed.seconds_waiting_for_data / NUM_TIMED / seconds:.2%}"],
        ["peak memory", f"{speed.peak_memory_bytes / 2**20:,.0f} MiB"],
    ]
    total = seconds_traced * NUM_TRACED
    groups: dict[str, list[OperatorTime]] = {}
    for one in times:
        groups.setdefault(group_of(one.name), []).append(one)
    by_group = [
        OperatorTime(name, sum(one.num_calls for one in some), sum(one.seconds for one in some))
        for name, some in groups.items()
    ]
    rest = total - sum(one.seconds for one in times)
    by_group.append(OperatorTime("outside of operators (Python, launching, idle)", 0, rest))
    dearest = sorted(times, key=lambda one: -one.seconds)[:_NUM_OPERATORS]
    where = f"{trainer.device.type}, {str(trainer.precision).removeprefix('torch.')}"
    if trainer.device.type == "cpu":
        where += f", {torch.get_num_threads()} threads"
    return "\n".join(
        [
            "# Where a training step spends its time",
            "",
            f"PyTorch {torch.__version__} on {where}; {state.model.num_parameters():,} parameters. "
            f"After {NUM_WARM_UP} steps to warm up, {NUM_TIMED} were timed and {NUM_TRACED} traced "
            f"({TRACE}: open it in ui.perfetto.dev).",
            "",
            *_table(["figure", "value"], figures),
            "",
            *_table(["group", "ms a step", "share", "calls a step"], _rows(by_group, total)),
            "",
            *_table(["operator", "ms a step", "share", "calls a step"], _rows(dearest, total)),
            "",
        ]
    )


def group_of(name: str) -> str:
    """The kind of work that an operator does."""
    name = name.lower()
    return next((group for group, known in _GROUPS.items() if re.search(known, name)), _OTHER)


def _rows(times: Iterable[OperatorTime], total: float) -> list[list[str]]:
    return [
        [
            one.name,
            f"{one.seconds / NUM_TRACED * 1e3:.3f}",
            f"{one.seconds / total:.1%}",
            f"{one.num_calls / NUM_TRACED:g}" if one.num_calls else "",
        ]
        for one in sorted(times, key=lambda one: -one.seconds)
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    line = "|".join(["---", *("---:" for _ in header[1:])])
    return [f"| {' | '.join(header)} |", f"|{line}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
