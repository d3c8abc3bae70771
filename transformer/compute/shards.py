"""The one seam: a pure function over shards, on an engine.

Which engine, and how many workers, changes no byte of what comes out, so it is no param: the
environment says it.

| variable | |
|---|---|
| `COMPUTE_ENGINE` | `processes` (default: this machine) or `ray` (the extra `cluster`) |
| `COMPUTE_WORKERS` | shards that are worked on at a time; all cores by default |
| `RAY_ADDRESS` | Ray's own: of a running cluster; without one it starts on this machine |
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from transformer.compute.processes import map_on_processes
from transformer.machine import count_cores

ENGINE = "COMPUTE_ENGINE"
WORKERS = "COMPUTE_WORKERS"
_ENGINES = ("processes", "ray")

Shard = TypeVar("Shard")
Result = TypeVar("Result")


def map_shards(function: Callable[[Shard], Result], shards: Sequence[Shard]) -> Iterator[Result]:
    """The function's results in the order of the shards, whatever order they are worked on in.

    A shard that a killed worker or node had is worked on again. At most two results for each
    worker wait to be taken. Close the iterator, or take it to its end.

    Args:
        function: pure, and importable by its name (or a `functools.partial` of such a one).
        shards: whose `str` tells them in messages.

    Raises:
        ValueError: one that the function raised, with the shard; a variable of the environment is
            wrong; workers were killed over and over.
        Exception: another one that the function raised; a note names the shard.
    """
    engine = os.environ.get(ENGINE, "processes")
    workers = _num_workers()
    if engine not in _ENGINES:
        raise ValueError(f"{ENGINE} = {engine!r}: allowed are {' and '.join(_ENGINES)}")
    if engine == "ray":
        from transformer.compute.ray_tasks import map_on_ray

        return map_on_ray(function, shards, workers)
    return map_on_processes(function, shards, workers or count_cores())


def _num_workers() -> int | None:
    text = os.environ.get(WORKERS)
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise ValueError(f"{WORKERS} = {text!r}: a whole number from 1 on is needed")
    return int(text)
