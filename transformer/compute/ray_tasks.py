"""Shards on a Ray cluster, which starts them, and starts them again where a node is lost."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeVar

from transformer.compute.named_errors import MAX_ATTEMPTS, call, killed

Shard = TypeVar("Shard")
Result = TypeVar("Result")


def map_on_ray(
    function: Callable[[Shard], Result], shards: Sequence[Shard], num_workers: int | None
) -> Iterator[Result]:
    """As `map_shards`. A cluster that isn't there yet starts here, and ends with the last result.

    Raises:
        ValueError: Ray is not installed, or its cluster can't be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError:
        raise ValueError(
            "COMPUTE_ENGINE = ray needs the extra `cluster`: "
            "pip install -c constraints.txt -e '.[cluster]'"
        ) from None
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray)
    try:
        if num_workers is None:
            num_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(max_retries=MAX_ATTEMPTS - 1)(call)
        shared = ray.put(function)
        waiting: deque[tuple[Shard, Any]] = deque()
        for shard in shards:
            waiting.append((shard, task.remote(shared, shard)))
            if len(waiting) == 2 * num_workers:
                yield _take(ray, *waiting.popleft())
        while waiting:
            yield _take(ray, *waiting.popleft())
    finally:
        if is_ours:
            ray.shutdown()


def _connect(ray: Any) -> None:
    try:
        ray.init(include_dashboard=False, logging_level="ERROR")
    except Exception as error:  # it raises bare Exception
        raise ValueError(
            f"Ray's cluster (RAY_ADDRESS = {os.environ.get('RAY_ADDRESS')}) can't be used: {error}"
        ) from error


def _take(ray: Any, shard: object, reference: Any) -> Any:
    errors = ray.exceptions
    try:
        return ray.get(reference)
    except errors.RayTaskError as error:
        raise error.cause from None
    except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError) as error:
        raise killed(shard, str(error).splitlines()[0]) from error
