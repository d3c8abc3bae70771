"""One run of the benchmark: every contender is started, then they are measured in rounds."""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.environment import Environment, UnavailableError, ensure_environment
from benchmarks.harness.rounds import Variant
from benchmarks.harness.workers import Worker
from benchmarks.training.findings import NAMES, PEERS, TrainingFindings
from benchmarks.training.subject import TrainingSubject, write_text
from benchmarks.training.work import FILE
from transformer.monitoring.flops import training_flops
from transformer.text.pairs import Integers

# The peers run on our PyTorch. Joey NMT asks for an older protobuf, and does without.
PEERS_ENVIRONMENT = Environment(
    "peers",
    (
        "joeynmt==2.3.0",
        "eole==0.6.4",
        "absl-py==2.5.1",
        "configargparse==1.9.0",
        "ctranslate2==4.8.5",
        "grpcio==1.85.1",
        "markdown==3.11.3",
        "plotly==7.1.0",
        "pyonmttok==1.38.1",
        "rapidfuzz==3.14.6",
        "seaborn==0.13.2",
        "sentencepiece==0.2.3",
        "subword-nmt==0.3.8",
        "tensorboard==2.21.0",
        "tensorboard-data-server==0.7.2",
        "torch-optimi==0.3.3",
    ),
    shares_ours=True,
)
# Its other shapes are compiled as they come.
WARM_UPS = {"compiled": 10}


def find_all(
    findings: TrainingFindings,
    subject: TrainingSubject,
    rounds: int,
    seconds: float,
    warm_up: float,
    report: Callable[[str], None],
) -> None:
    """Fills in the findings.

    Args:
        findings: with variants; what can't be had leaves a reason there.
        subject: what they train.
        rounds: measurements of each.
        seconds: of each measurement, at least.
        warm_up: seconds of steps before the first one.
        report: is told what goes on.
    """
    python = _prepare_peers(findings, subject, report)
    work = str(Path(subject.work.folder) / FILE)
    workers: dict[Variant, Worker] = {}
    peaks: dict[str, Worker] = {}

    def command(who: str) -> list[str]:
        name, _, precision = who.partition("-")
        if name in PEERS:
            return [str(python), "-m", f"benchmarks.training.{name}", work, precision]
        return [sys.executable, "-m", "benchmarks.training.worker", work, who]

    def ask(variant: Variant, _: tuple[int, ...]) -> dict[str, Any]:
        peak = peaks[findings.precisions[variant.contender]]
        return measure_once(workers[variant], peak, subject, seconds)

    with ExitStack() as stack:
        for variant in findings.variants:
            who, started = variant.contender, time.perf_counter()
            worker = findings.start(variant, partial(command, who))
            if worker is None:
                continue
            report(f"started: {NAMES[who]}")
            stack.enter_context(worker)
            try:
                worker.ask("measure", seconds=0)  # one step
                findings.start_seconds[who] = time.perf_counter() - started
                worker.ask("measure", seconds=warm_up * WARM_UPS.get(who, 1))
            except UnavailableError as error:
                findings.reasons[who] = str(error)
                continue
            workers[variant] = worker
            findings.precisions[who] = precision = worker.greeting["precision"]
            if precision not in peaks:
                peaks[precision] = stack.enter_context(Worker(command(f"peak-{precision}"), {}))
        findings.measure(list(workers), [()], rounds, ask, report)


def measure_once(
    worker: Worker, peak: Worker, subject: TrainingSubject, seconds: float
) -> dict[str, Any]:
    """The figures of some steps of one contender.

    The device's peak is measured first: on a machine that is shared, or that throttles, it changes
    from minute to minute. Then a step is made, since a worker that slept finds its caches cold.

    Args:
        worker: has done its first steps.
        peak: measures the peak in the contender's precision.
        subject: for the count of operations.
        seconds: that the measurement takes at least.
    """
    before = peak.ask("peak"), worker.ask("measure", seconds=0)
    answer = worker.ask("measure", seconds=seconds)
    source, target, times = np.array(answer.pop("pairs"), dtype=np.int64).reshape(-1, 3).T
    counts = count_tokens(subject, np.repeat(source, times), np.repeat(target, times))
    return (
        answer
        | counts
        | {
            "cpu_seconds": sum(one["cpu_seconds"] for one in (*before, answer)),
            "peak_flops": before[0]["flops_per_second"],
        }
    )


def count_tokens(
    subject: TrainingSubject, source_lengths: Integers, target_lengths: Integers
) -> dict[str, float]:
    """Tokens of some pairs, and the operations that the model needs for them."""
    lengths = source_lengths, target_lengths
    source, target = (int(one.sum()) for one in lengths)
    return {
        "num_tokens": source + target,
        "source_tokens": source,
        "target_tokens": target,
        "flops": training_flops(subject.model, subject.vocab_size, *lengths),
    }


def _prepare_peers(
    findings: TrainingFindings, subject: TrainingSubject, report: Callable[[str], None]
) -> Path | None:
    contenders = [variant.contender for variant in findings.variants]
    peers = [who for who in contenders if who.partition("-")[0] in PEERS]
    if not peers:
        return None
    report("environment of the peers")
    try:
        python = ensure_environment(PEERS_ENVIRONMENT)
    except UnavailableError as error:
        findings.reasons |= dict.fromkeys(peers, str(error))
        return None
    write_text(subject)
    return python
