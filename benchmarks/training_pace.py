"""A training loop that runs for as long as the parent asks, and waits in between.

Workers run in environments of their own, so this imports the standard library alone.

A worker says first, before its first step: {"load_seconds", "version"}. Then it answers
{"kind": "measure", "seconds"}, once at least so many seconds of whole steps are done, with
- "seconds": what they took, data and optimizer included;
- "num_steps", "slots": steps, and positions of their padded batches, source and target together;
- "pairs": [source tokens, target tokens, how many such pairs] for each pair of lengths that was
  trained on; each length counts one end mark;
- "cpu_seconds", "peak_bytes".
What goes wrong is answered as {"error": message}.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from benchmarks.protocol import peak_bytes, take_stdout


class Pace:
    """Stands between two steps of a training loop.

    Args:
        version: of the engine, for the table.
        synchronise: returns when the device has done what it was told.
        answers: where answers go.
        requests: where requests come from.
        clock: in seconds.
    """

    def __init__(
        self,
        version: str,
        started: float,
        answers: TextIO,
        requests: TextIO,
        synchronise: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._version, self._started = version, started
        self._answers, self._requests = answers, requests
        self._synchronise, self._clock = synchronise, clock
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
            self._answer({"load_seconds": self._clock() - self._started, "version": self._version})
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
        self._synchronise()
        seconds = self._clock() - self._begin
        self._answer(
            {
                "seconds": seconds,
                "num_steps": self._num_steps,
                "slots": self._slots,
                "pairs": [[*pair, count] for pair, count in sorted(self._pairs.items())],
                "cpu_seconds": time.process_time() - self._used,
                "peak_bytes": peak_bytes(),
            }
        )

    def _answer(self, values: dict[str, Any]) -> None:
        print(json.dumps(values), file=self._answers, flush=True)


def serve_training(train: Callable[[Callable[..., Pace]], None]) -> None:
    """Runs a training whose loop calls `Pace.before_step`; its failure is the last answer.

    Args:
        train: is given a maker of the `Pace`, which takes the version and, by name, what
            `Pace` may be told besides.
    """
    started = time.perf_counter()
    answers = take_stdout()

    def make_pace(version: str, **options: Any) -> Pace:
        return Pace(version, started, answers, sys.stdin, **options)

    try:
        train(make_pace)
        message = "its training ended by itself"
    except Exception as error:  # whatever it is, the table tells it
        message = f"{type(error).__name__}: {error}"
    print(json.dumps({"error": message}), file=answers, flush=True)
