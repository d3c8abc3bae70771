"""A training loop that runs for as long as the parent asks, and waits in between.

Workers run in environments of their own, so this imports the standard library alone.

A worker says first, before its first step: {"load_seconds", "version", "precision"}, the last
being that of its products, by PyTorch's name. Then it answers
{"kind": "measure", "seconds"}, once at least so many seconds of whole steps are done, with
- "seconds": what they took, data and optimizer included;
- "num_steps", "slots": steps, and positions of their padded batches, source and target together;
- "pairs": [source tokens, target tokens, how many such pairs] for each pair of lengths that was
  trained on; each length counts one end mark;
- "cpu_seconds", "peak_bytes", which is of the GPU's memory where it trains on one.
What goes wrong is answered as {"error": message}.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from benchmarks.decoding.work import peak_bytes, take_stdout


class Pace:
    """Stands between two steps of a training loop.

    Args:
        version: of the engine, for the table.
        precision: of its products, for the table.
        started: when the worker started, by the clock.
        answers: where answers go.
        requests: where requests come from.
        synchronise: returns when the device has done what it was told.
        measure_peak: gives the most bytes used so far.
        clock: in seconds.
    """

    def __init__(
        self,
        version: str,
        precision: str,
        started: float,
        answers: TextIO,
        requests: TextIO,
        synchronize: Callable[[], None] = lambda: None,
        measure_peak: Callable[[], int] = peak_bytes,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._greeting = {"version": version, "precision": precision}
        self._started = started
        self._answers, self._requests = answers, requests
        self._synchronize, self._measure_peak, self._clock = synchronize, measure_peak, clock
        self._wanted: float | None = None  # None: before the first request
        self._next: tuple[Counter[tuple[int, int]], int] = Counter(), 0

    def before_step(self, pairs: Iterable[tuple[int, int]], num_slots: int) -> None:
        """To be called before each step, with what it will train on; may wait for long.

        Args:
            pairs: source and target length of each sentence, one end mark counted on each side.
            num_slots: positions of both padded matrices.

        Raises:
            SystemExit: the parent has no more requests.
        """
        if self._wanted is None:
            self._answer({"load_seconds": self._clock() - self._started} | self._greeting)
            self._wait()
        else:
            self._num_steps += 1
            self._pairs += self._next[0]
            self._slots += self._next[1]
            if self._clock() - self._begin >= self._wanted:
                self._report()
                self._wait()
        self._next = Counter(pairs), num_slots

    def _wait(self) -> None:
        line = self._requests.readline()
        if not line:
            raise SystemExit
        self._wanted = float(json.loads(line)["seconds"])
        self._num_steps, self._slots = 0, 0
        self._pairs: Counter[tuple[int, int]] = Counter()
        self._used = time.process_time()
        self._begin = self._clock()

    def _report(self) -> None:
        self._synchronize()
        seconds = self._clock() - self._begin
        self._answer(
            {
                "seconds": seconds,
                "num_steps": self._num_steps,
                "slots": self._slots,
                "pairs": [[*pair, count] for pair, count in sorted(self._pairs.items())],
                "cpu_seconds": time.process_time() - self._used,
                "peak_bytes": self._measure_peak(),
            }
        )

    def _answer(self, values: dict[str, Any]) -> None:
        print(json.dumps(values), file=self._answers, flush=True)


def serve_training(train: Callable[[Callable[..., Pace]], None]) -> None:
    """Runs a training whose loop calls `Pace.before_step`; its failure is the last answer.

    Args:
        train: is given a maker of the `Pace`, which takes the version, the precision and the
            device, cpu or cuda.
    """
    started = time.perf_counter()
    answers = take_stdout()

    def make_pace(version: str, precision: str, device: str) -> Pace:
        options: dict[str, Any] = {}
        if device == "cuda":
            import torch  # all that train on a GPU have it

            cuda = torch.cuda
            options = {
                "synchronize": cuda.synchronize,
                "measure_peak": cuda.max_memory_allocated,
            }
        return Pace(version, precision, started, answers, sys.stdin, **options)

    try:
        train(make_pace)
        message = "its training ended by itself"
    except Exception as error:  # whatever it is, the table tells it
        message = f"{type(error).__name__}: {error}"
    print(json.dumps({"error": message}), file=answers, flush=True)
