"""What parent and worker say to each other: one JSON object a line.

Workers run in environments of their own, so this module imports the standard library alone.

A worker says first, once it is loaded: {"load_seconds", "session_seconds", "version"}. Then it
answers requests one by one:
- {"kind": "measure", "plan", "beam_size"} -> {"seconds", "num_tokens", "num_batches"};
- {"kind": "translate", "plan", "beam_size"} -> {"targets": a list of ids per sentence};
- {"kind": "memory"} -> {"peak_bytes"}.
Each answer holds "cpu_seconds" too, what the worker used of the cores for it; what goes wrong is
answered as {"error": message}.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

# Sentences translated before the clock starts: a worker that slept finds its caches cold.
NUM_WARM_UP_SENTENCES = 8

# A plan is translated again until so much time has been measured, and left off after so much.
MIN_SECONDS = 0.5
MAX_SECONDS = 10.0


class Ranking(NamedTuple):
    """How our searches rank, and when they stop."""

    length_penalty: float
    patience: float  # infinite for none


@dataclass(frozen=True)
class Work:
    """What all workers of a run translate. Ids end with the end mark; lengths count it."""

    sources: list[list[int]]
    # The most target tokens of each sentence.
    max_lengths: list[int]
    length_penalty: float
    # Infinite for none.
    patience: float
    # By name: indices of sentences, batch by batch.
    plans: dict[str, list[list[int]]]

    @property
    def ranking(self) -> Ranking:
        """What our own engines take."""
        return Ranking(self.length_penalty, self.patience)

    def save(self, path: Path) -> None:
        """Writes JSON."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> "Work":
        """Reads what `save` wrote."""
        return cls(**json.loads(path.read_text()))


class Engine(Protocol):
    """A way to translate batches of token ids."""

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Any:
        """One batch in the form that the engine's call takes; not timed. Padding is no part."""

    def run(self, batch: Any, beam_size: int) -> Any:
        """Translates one batch; timed, and done when it returns."""

    def read(self, result: Any) -> list[list[int]]:
        """The best translation of each sentence as ids, end mark included; not timed."""


class Loaded(NamedTuple):
    """An engine, the seconds that its session or model alone took, its runtime's version."""

    engine: Engine
    session_seconds: float
    version: str


def serve(load: Callable[[], Loaded], work: Work) -> None:
    """Loads an engine, then answers requests on standard input until it ends."""
    answers = take_stdout()

    def answer(values: dict[str, Any]) -> None:
        print(json.dumps(values), file=answers, flush=True)

    started = time.perf_counter()
    try:
        engine, session_seconds, version = load()
    except Exception as error:  # whatever it is, the table tells it
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    load_seconds = time.perf_counter() - started
    answer({"load_seconds": load_seconds, "session_seconds": session_seconds, "version": version})
    for line in sys.stdin:
        used = time.process_time()
        try:
            values = _respond(engine, work, json.loads(line))
        except Exception as error:
            values = {"error": f"{type(error).__name__}: {error}"}
        answer(values | {"cpu_seconds": time.process_time() - used})


def measure(
    engine: Engine,
    work: Work,
    plan: Sequence[Sequence[int]],
    beam_size: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Translates a plan's batches, again and again for a while, and times the engine's calls.

    Returns:
        "seconds" in those calls, "num_tokens" that they gave, end marks included, "num_batches".
    """
    batches = [_prepare(engine, work, rows) for rows in plan]
    num_warm = 0
    for rows, batch in zip(plan, batches, strict=True):
        if num_warm >= NUM_WARM_UP_SENTENCES:
            break
        engine.run(batch, beam_size)
        num_warm += len(rows)
    seconds, num_tokens, num_batches = 0.0, 0, 0
    while seconds < MIN_SECONDS:
        for batch in batches:
            if seconds >= MAX_SECONDS:
                break
            started = clock()
            result = engine.run(batch, beam_size)
            seconds += clock() - started
            num_tokens += sum(map(len, engine.read(result)))
            num_batches += 1
    return {"seconds": seconds, "num_tokens": num_tokens, "num_batches": num_batches}


def translate(
    engine: Engine, work: Work, plan: Sequence[Sequence[int]], beam_size: int
) -> list[list[int]]:
    """The translations of all sentences in their order; none for those outside the plan."""
    targets: list[list[int]] = [[] for _ in work.sources]
    for rows in plan:
        result = engine.run(_prepare(engine, work, rows), beam_size)
        for row, target in zip(rows, engine.read(result), strict=True):
            targets[row] = target
    return targets


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


def _respond(engine: Engine, work: Work, request: dict[str, Any]) -> dict[str, Any]:
    if request["kind"] == "measure":
        return measure(engine, work, work.plans[request["plan"]], request["beam_size"])
    if request["kind"] == "translate":
        plan = work.plans[request["plan"]]
        return {"targets": translate(engine, work, plan, request["beam_size"])}
    return {"peak_bytes": peak_bytes()}


def _prepare(engine: Engine, work: Work, rows: Sequence[int]) -> Any:
    return engine.prepare(
        [work.sources[row] for row in rows], [work.max_lengths[row] for row in rows]
    )


def take_stdout() -> TextIO:
    """Where answers go from here on.

    Libraries print; their words go to standard error, so that answers stay whole lines.
    """
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream
