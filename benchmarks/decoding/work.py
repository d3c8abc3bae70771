"""What workers translate, and how they time it; the standard library alone, as the protocol.

They answer {"kind": "measure", "plan", "beam_size"} with {"seconds", "num_tokens", "num_batches"}
and {"kind": "translate", "plan", "beam_size"} with {"targets": a list of ids per sentence}.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.harness.protocol import serve

# Sentences translated before the clock starts: a worker that slept finds its caches cold.
NUM_WARM_UP_SENTENCES = 8

# A plan is translated again until so much time has been measured, and left off after so much.
MIN_SECONDS = 0.5
MAX_SECONDS = 10.0


@dataclass(frozen=True)
class Work:
    """What all workers of a run translate. Ids end with the end token; lengths count it."""

    source_pad: int
    # Fields of the target's `SpecialIds`.
    special: list[int]
    # Fields of `SearchOptions`; its number of beams is each request's.
    options: dict[str, Any]
    sources: list[list[int]]
    # The most target tokens of each sentence.
    max_lengths: list[int]
    # By name: indices of sentences, batch by batch.
    plans: dict[str, list[list[int]]]

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
        """The best translation of each sentence as ids, end token included; not timed."""


class Loaded(NamedTuple):
    """An engine, the seconds that its session or model alone took, its runtime's version."""

    engine: Engine
    session_seconds: float
    version: str


def serve_engine(load: Callable[[], Loaded], work: Work) -> None:
    """Loads an engine, then measures and translates as it is asked to."""

    def start() -> tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]:
        engine, session_seconds, version = load()

        def respond(request: dict[str, Any]) -> dict[str, Any]:
            plan, beam_size = work.plans[request["plan"]], request["beam_size"]
            if request["kind"] == "measure":
                return measure(engine, work, plan, beam_size)
            return {"targets": translate(engine, work, plan, beam_size)}

        return {"session_seconds": session_seconds, "version": version}, respond

    serve(start)


def measure(
    engine: Engine,
    work: Work,
    plan: Sequence[Sequence[int]],
    beam_size: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Translates a plan's batches, again and again for a while, and times the engine's calls.

    Returns:
        "seconds" in those calls, "num_tokens" that they gave, end tokens included, "num_batches".
    """
    batches = [prepare(engine, work, rows) for rows in plan]
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
        result = engine.run(prepare(engine, work, rows), beam_size)
        for row, target in zip(rows, engine.read(result), strict=True):
            targets[row] = target
    return targets


def prepare(engine: Engine, work: Work, rows: Sequence[int]) -> Any:
    """A batch of a plan in the engine's form."""
    return engine.prepare(
        [work.sources[row] for row in rows], [work.max_lengths[row] for row in rows]
    )
