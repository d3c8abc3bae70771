"""Speeds, measured in turn."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.decoding.contenders import Variant
from benchmarks.decoding.project import plan_name
from benchmarks.decoding.sampling import Cell, interleave
from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.workers import Worker


class Measurement(NamedTuple):
    """One measurement of one variant in one cell."""

    variant: Variant
    cell: Cell
    round_index: int
    seconds: float
    num_tokens: int
    # What other processes took of all cores meanwhile, 0 to 1; None where that can't be told.
    others_share: float | None

    @property
    def speed(self) -> float:
        """Target tokens per second."""
        return self.num_tokens / self.seconds


class Ratio(NamedTuple):
    """One median speed over another, with the range over the rounds, each taken by itself."""

    value: float
    low: float
    high: float
    ours: Variant
    theirs: Variant


class Speeds:
    """Medians of measurements, and who is best."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._by_round: dict[tuple[Variant, Cell], dict[int, float]] = {}
        for one in measurements:
            rounds = self._by_round.setdefault((one.variant, one.cell), {})
            rounds[one.round_index] = one.speed

    def median(self, variant: Variant, cell: Cell) -> float | None:
        """Target tokens per second, or None if nothing was measured."""
        rounds = self._by_round.get((variant, cell))
        return median(rounds.values()) if rounds else None

    def best(self, contenders: Sequence[str], cell: Cell) -> Variant | None:
        """The variant of these contenders with the highest median."""
        medians = {
            variant: median(rounds.values())
            for (variant, where), rounds in self._by_round.items()
            if where == cell and variant.contender in contenders
        }
        return max(medians, key=lambda variant: medians[variant]) if medians else None

    def ratio(self, ours: Sequence[str], theirs: Sequence[str], cell: Cell) -> Ratio | None:
        """Our best variant's median over their best one's, or None if either is missing."""
        mine, other = self.best(ours, cell), self.best(theirs, cell)
        if mine is None or other is None:
            return None
        ours_by_round, theirs_by_round = self._by_round[mine, cell], self._by_round[other, cell]
        value = median(ours_by_round.values()) / median(theirs_by_round.values())
        both = ours_by_round.keys() & theirs_by_round.keys()
        by_round = [ours_by_round[index] / theirs_by_round[index] for index in both]
        return Ratio(value, min(by_round, default=value), max(by_round, default=value), mine, other)


def measure_all(
    workers: Mapping[Variant, Worker],
    cells: Sequence[Cell],
    num_rounds: int,
    report: Callable[[str], None],
) -> tuple[list[Measurement], dict[Variant, str]]:
    """All measurements, in interleaved order, and why some variants have none.

    A variant that fails is left out from then on.
    """
    measurements: list[Measurement] = []
    failed: dict[Variant, str] = {}
    told = -1
    for round_index, cell, variant in interleave(cells, list(workers), num_rounds):
        if round_index > told:
            report(f"round {round_index + 1} of {num_rounds}")
            told = round_index
        if variant in failed or not variant.takes(cell.batch_size):
            continue
        plan = plan_name(cell.batch_size, variant.is_slow)
        started, busy = time.perf_counter(), busy_seconds()
        try:
            answer = workers[variant].ask("measure", plan=plan, beam_size=cell.beam_size)
        except UnavailableError as error:
            failed[variant] = str(error)
            continue
        elapsed, now_busy = time.perf_counter() - started, busy_seconds()
        share = None
        if busy is not None and now_busy is not None:
            others = now_busy - busy - answer["cpu_seconds"]
            share = max(0.0, others / (elapsed * (os.cpu_count() or 1)))
        measurements.append(
            Measurement(variant, cell, round_index, answer["seconds"], answer["num_tokens"], share)
        )
    return measurements, failed


def busy_seconds() -> float | None:
    """Seconds that all cores were busy since the machine started, or None outside Linux."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _, _, *rest = map(int, fields)
    irq, softirq, steal = rest[:3]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
