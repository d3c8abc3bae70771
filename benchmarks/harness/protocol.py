"""What parent and worker say to each other: one JSON object a line.

Workers run in environments of their own, so this module imports the standard library alone.

A worker greets once it is loaded, with {"load_seconds", "version"} and what else its benchmark
tells of it. Then it answers requests, {"kind": …}, one by one. Beside what was asked for, each
answer holds "cpu_seconds", what the worker used of the cores for it, and "peak_bytes", the most
memory that it has used so far. What goes wrong is answered as {"error": message}.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

Values = dict[str, Any]


def peak_bytes() -> int:
    """The largest resident memory of this process so far.

    Linux counts `ru_maxrss` over from the process that started this one, `VmHWM` it doesn't.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return next(
            int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")
        )
    except (OSError, StopIteration):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Channel:
    """The worker's end of the line; it starts the clock of what loading takes.

    Args:
        answers: where answers go.
        requests: where requests come from.
        clock: in seconds.

    Attributes:
        measure_peak: gives the most bytes used so far.
    """

    def __init__(
        self, answers: TextIO, requests: TextIO, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._answers, self._requests, self.clock = answers, requests, clock
        self._started = clock()
        self.measure_peak: Callable[[], int] = peak_bytes

    @classmethod
    def open(cls) -> "Channel":
        """On standard input and output.

        Libraries print; their words go to standard error, so that answers stay whole lines.
        """
        answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        return cls(answers, sys.stdin)

    def greet(self, values: Values) -> None:
        """Tells that the worker is loaded."""
        self._say({"load_seconds": self.clock() - self._started} | values)

    def receive(self) -> Values | None:
        """Waits for the next request; None where there are no more."""
        line = self._requests.readline()
        self._used = time.process_time()
        return json.loads(line) if line else None

    def answer(self, values: Values) -> None:
        """Answers the request that was received last."""
        used = time.process_time() - self._used
        self._say(values | {"cpu_seconds": used, "peak_bytes": self.measure_peak()})

    def fail(self, error: Exception | str) -> None:
        """Tells what went wrong."""
        is_text = isinstance(error, str)
        self._say({"error": error if is_text else f"{type(error).__name__}: {error}"})

    def _say(self, values: Values) -> None:
        print(json.dumps(values), file=self._answers, flush=True)


def serve(load: Callable[[], tuple[Values, Callable[[Values], Values]]]) -> None:
    """Answers requests on standard input until it ends; whatever goes wrong, the table tells it.

    Args:
        load: gives the greeting, and a function that answers a request.
    """
    channel = Channel.open()
    try:
        greeting, respond = load()
    except Exception as error:
        channel.fail(error)
        return
    channel.greet(greeting)
    while (request := channel.receive()) is not None:
        try:
            channel.answer(respond(request))
        except Exception as error:
            channel.fail(error)
