"""Training speeds, measured in turn."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.rounds import busy_seconds
from benchmarks.harness.workers import Worker
from transformer.model.config import ModelConfig
from transformer.monitoring.flops import training_flops

SIDES = ("source", "target")
# A measurement in which other processes took more of the cores is made again, so often.
MAX_OTHERS_SHARE = 0.1
MAX_ATTEMPTS = 3


class TrainingMeasurement(NamedTuple):
    """Some steps of one contender, one after the other."""

    contender: str
    round_index: int
    seconds: float
    num_steps: int
    source_tokens: int  # real ones, end marks included
    target_tokens: int
    slots: int  # positions of the padded batches, both sides
    flops: float  # that the model needs for the real tokens
    peak: float  # FLOP/s of a large product, just before
    # What other processes took of all cores meanwhile, 0 to 1; None where that can't be told.
    others_share: float | None


class TrainingSpeeds:
    """Medians over the rounds.

    Args:
        measurements: of all contenders.
    """

    def __init__(self, measurements: Sequence[TrainingMeasurement]) -> None:
        self._rounds: dict[str, dict[int, TrainingMeasurement]] = {}
        for one in measurements:
            self._rounds.setdefault(one.contender, {})[one.round_index] = one

    def tokens_per_second(self, contender: str, sides: Sequence[str] = SIDES) -> float:
        """Real tokens, source and target together unless `sides` names one."""
        return median(_speed(one, sides) for one in self._rounds[contender].values())

    def utilization(self, contender: str) -> float:
        """The FLOP/s that the model needed over the peak of the same round."""
        rounds = self._rounds[contender].values()
        return median(one.flops / one.seconds / one.peak for one in rounds)

    def padding_share(self, contender: str) -> float:
        """The share of all slots that held no real token, over all rounds."""
        rounds = self._rounds[contender].values()
        real = sum(one.source_tokens + one.target_tokens for one in rounds)
        return 1 - real / sum(one.slots for one in rounds)

    def has(self, contender: str) -> bool:
        """Whether anything was measured."""
        return contender in self._rounds

    def best(self, contenders: Sequence[str]) -> str | None:
        """The fastest of these, or None if none was measured."""
        return max(filter(self.has, contenders), key=self.tokens_per_second, default=None)

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """One contender's tokens per second over another's, in each round that has both."""
        mine, other = self._rounds[ours], self._rounds[theirs]
        both = sorted(mine.keys() & other.keys())
        return [_speed(mine[index], SIDES) / _speed(other[index], SIDES) for index in both]


def measure_training(
    workers: Mapping[str, Worker],
    peaks: Mapping[str, Worker],
    model: ModelConfig,
    vocab_size: int,
    num_rounds: int,
    seconds: float,
    report: Callable[[str], None],
) -> tuple[list[TrainingMeasurement], dict[str, str]]:
    """All measurements, and why some contenders have none.

    Each round begins with another contender, and the peak is measured before each: on a machine
    that is shared, or that throttles, it changes from minute to minute. One step is made before
    the clock starts: a worker that slept finds its caches cold.

    Args:
        workers: by contender; each has done its first steps.
        peaks: the worker that measures the peak for each contender.
        model: for the count of operations.
        vocab_size: of the target.
        num_rounds: measurements of each contender.
        seconds: that each of them takes at least.
        report: is told what goes on.
    """
    measurements, failed = [], {}
    order = list(workers)
    for round_index in range(num_rounds):
        report(f"round {round_index + 1} of {num_rounds}")
        first = round_index % max(len(order), 1)
        for who in (*order[first:], *order[:first]):
            if who in failed:
                continue
            try:
                measurements.append(
                    _measure_quietly(
                        who, round_index, workers[who], peaks[who], model, vocab_size, seconds
                    )
                )
            except UnavailableError as error:
                failed[who] = str(error)
    return measurements, failed


def _measure_quietly(
    who: str,
    round_index: int,
    worker: Worker,
    peak_worker: Worker,
    model: ModelConfig,
    vocab_size: int,
    seconds: float,
) -> TrainingMeasurement:
    # The quietest of several attempts, the first of which is mostly enough.
    attempts: list[TrainingMeasurement] = []
    while len(attempts) < MAX_ATTEMPTS:
        peak = peak_worker.ask("peak")["flops_per_second"]
        worker.ask("measure", seconds=0)
        started, busy = time.perf_counter(), busy_seconds()
        answer = worker.ask("measure", seconds=seconds)
        share = _others_share(started, busy, answer["cpu_seconds"])
        attempts.append(
            TrainingMeasurement(
                who,
                round_index,
                answer["seconds"],
                answer["num_steps"],
                slots=answer["slots"],
                peak=peak,
                others_share=share,
                **_count(answer["pairs"], model, vocab_size),
            )
        )
        if share is None or share <= MAX_OTHERS_SHARE:
            break
    return min(attempts, key=lambda one: one.others_share or 0.0)


def _count(pairs: list[list[int]], model: ModelConfig, vocab_size: int) -> dict[str, Any]:
    source, target, times = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    lengths = np.repeat(source, times), np.repeat(target, times)
    return {
        "source_tokens": int(lengths[0].sum()),
        "target_tokens": int(lengths[1].sum()),
        "flops": training_flops(model, vocab_size, *lengths),
    }


def _speed(one: TrainingMeasurement, sides: Sequence[str]) -> float:
    counts = {"source": one.source_tokens, "target": one.target_tokens}
    return sum(counts[side] for side in sides) / one.seconds


def _others_share(started: float, busy: float | None, used: float) -> float | None:
    elapsed, now_busy = time.perf_counter() - started, busy_seconds()
    if busy is None or now_busy is None:
        return None
    return max(0.0, (now_busy - busy - used) / (elapsed * (os.cpu_count() or 1)))
