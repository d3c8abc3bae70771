"""Measurements in rounds, in which the contenders take turns."""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TypeVar

from benchmarks.harness.environment import UnavailableError

T = TypeVar("T")
# A column of a table, such as a batch size; one that has no columns is measured in `()`.
C = TypeVar("C", bound=tuple[int, ...])

# What was counted, by name: "seconds", "num_tokens", …
Figures = Mapping[str, float]

# A measurement in which other processes took more of the cores is made again, so often.
MAX_OTHERS_SHARE = 0.1
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class Variant:
    """A contender in one setting; a process of its own."""

    contender: str
    # In all, over its workers.
    num_threads: int
    # Batches side by side: the workers share the threads, and each batch is cut for them.
    num_workers: int = 1
    # What OpenMP's threads do when they wait.
    is_active_wait: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """What its process needs besides: OpenMP reads its settings when it is loaded."""
        return {"OMP_WAIT_POLICY": "ACTIVE"} if self.is_active_wait else {}

    @property
    def setting(self) -> str:
        """Such as `2`, `2, active wait`, `2 x 1`."""
        if self.num_workers > 1:
            return f"{self.num_workers} x {self.num_threads // self.num_workers}"
        return f"{self.num_threads}, active wait" if self.is_active_wait else str(self.num_threads)


class Measurement(NamedTuple):
    """One measurement of one variant in one cell."""

    variant: Variant
    cell: tuple[int, ...]
    round_index: int
    # What other processes took of all cores meanwhile, 0 to 1.
    others_share: float
    # The worker's answer: "seconds", "num_tokens", "peak_bytes" and what else was counted.
    figures: Figures

    @property
    def speed(self) -> float:
        """Tokens per second."""
        return self.figures["num_tokens"] / self.figures["seconds"]


class Ratio(NamedTuple):
    """One median speed over another, with the range over the rounds, each taken by itself."""

    value: float
    low: float
    high: float


class Speeds:
    """Medians over the rounds, and who is best.

    Args:
        measurements: of all variants.
    """

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._by_round: dict[tuple[Variant, tuple[int, ...]], dict[int, Measurement]] = {}
        for one in measurements:
            self._by_round.setdefault((one.variant, one.cell), {})[one.round_index] = one

    def rounds(self, variant: Variant, cell: tuple[int, ...] = ()) -> list[Measurement]:
        """The measurement of each round; none if there was none."""
        return list(self._by_round.get((variant, cell), {}).values())

    def median(
        self,
        variant: Variant | None,
        cell: tuple[int, ...] = (),
        figure: Callable[[Figures], float] = lambda one: one["num_tokens"] / one["seconds"],
    ) -> float | None:
        """Of tokens per second, or of another figure; None if nothing was measured."""
        rounds = [] if variant is None else self.rounds(variant, cell)
        return median(figure(one.figures) for one in rounds) if rounds else None

    def best(self, contenders: Sequence[str], cell: tuple[int, ...] = ()) -> Variant | None:
        """The variant of these contenders with the highest median speed."""
        medians = {
            variant: median(one.speed for one in rounds.values())
            for (variant, where), rounds in self._by_round.items()
            if where == cell and variant.contender in contenders
        }
        return max(medians, key=lambda variant: medians[variant]) if medians else None

    def ratio(
        self, ours: Sequence[str], theirs: Sequence[str], cell: tuple[int, ...] = ()
    ) -> Ratio | None:
        """Our best variant's median over their best one's, or None if either is missing."""
        mine, other = self.best(ours, cell), self.best(theirs, cell)
        if mine is None or other is None:
            return None
        above, below = (
            {index: one.speed for index, one in self._by_round[variant, cell].items()}
            for variant in (mine, other)
        )
        value = median(above.values()) / median(below.values())
        by_round = [above[index] / below[index] for index in above.keys() & below.keys()]
        return Ratio(value, min(by_round, default=value), max(by_round, default=value))


def measure_rounds(
    variants: Sequence[Variant],
    cells: Sequence[C],
    num_rounds: int,
    ask: Callable[[Variant, C], dict[str, Any] | None],
    report: Callable[[str], None],
) -> tuple[list[Measurement], dict[Variant, str]]:
    """All measurements, in interleaved order, and why some variants have none.

    A variant that fails is left out from then on. Of a measurement that others disturbed, the
    quietest of several attempts stands.

    Args:
        variants: in the order of the table.
        cells: in which each of them is measured.
        num_rounds: measurements of each.
        ask: makes one measurement; its "cpu_seconds" are all that our processes used meanwhile.
            None where a variant is not measured in a cell.
        report: is told what goes on.
    """
    measurements: list[Measurement] = []
    failed: dict[Variant, str] = {}
    told = -1
    for round_index, cell, variant in interleave(cells, variants, num_rounds):
        if round_index > told:
            report(f"round {round_index + 1} of {num_rounds}")
            told = round_index
        attempts: list[Measurement] = []
        while variant not in failed and len(attempts) < MAX_ATTEMPTS:
            started, idle = time.perf_counter(), idle_seconds()
            try:
                answer = ask(variant, cell)
            except UnavailableError as error:
                failed[variant] = str(error)
                attempts.clear()
                break
            if answer is None:
                break
            share = others_share(started, idle, answer["cpu_seconds"])
            attempts.append(Measurement(variant, cell, round_index, share, answer))
            if share <= MAX_OTHERS_SHARE:
                break
        if attempts:
            measurements.append(min(attempts, key=lambda one: one.others_share))
    return measurements, failed


def interleave(
    cells: Sequence[C], contenders: Sequence[T], num_rounds: int
) -> Iterator[tuple[int, C, T]]:
    """Round, cell and contender of each measurement.

    Each round takes the cells in an order of its own; within a cell the contenders follow one
    another, and another one begins each time, so that no drift of the machine favours anyone.
    """
    first = 0
    for round_index in range(num_rounds):
        order = list(cells)
        random.Random(round_index).shuffle(order)
        for cell in order:
            for contender in (*contenders[first:], *contenders[:first]):
                yield round_index, cell, contender
            first = (first + 1) % max(len(contenders), 1)


def idle_seconds() -> float:
    """Seconds that all cores had nothing to do since the machine started."""
    import psutil  # which a machine that only trains may lack

    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def others_share(started: float, idle: float, used: float) -> float:
    """What other processes took of all cores since then, 0 to 1.

    Args:
        started: by time.perf_counter().
        idle: what `idle_seconds` gave then.
        used: seconds that our own processes used since.
    """
    available = (time.perf_counter() - started) * (os.cpu_count() or 1)
    return max(0.0, 1 - (idle_seconds() - idle + used) / available)
