"""Shards on the cores of this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from transformer.compute.named_errors import MAX_ATTEMPTS, call, killed

Shard = TypeVar("Shard")
Result = TypeVar("Result")


def map_on_processes(
    function: Callable[[Shard], Result], shards: Sequence[Shard], num_workers: int
) -> Iterator[Result]:
    """As `map_shards`; one worker, or one shard, needs no other process than this one."""
    if min(num_workers, len(shards)) <= 1:
        for shard in shards:
            yield call(function, shard)
        return
    done = attempts = 0
    while done < len(shards):
        try:
            for result in _run_pool(function, shards[done:], num_workers):
                yield result
                done, attempts = done + 1, 0
        except BrokenProcessPool as error:  # one was killed; the others end with it
            attempts += 1
            if attempts == MAX_ATTEMPTS:
                raise killed(shards[done], "a process") from error


def _run_pool(
    function: Callable[[Shard], Result], shards: Sequence[Shard], num_workers: int
) -> Iterator[Result]:
    # Not forked: the parent has threads (Arrow's, the tokenizers'), which a fork doesn't survive.
    pool = ProcessPoolExecutor(
        min(num_workers, len(shards)), multiprocessing.get_context("spawn"), _start_worker
    )
    waiting: deque[Future[Result]] = deque()
    try:
        for shard in shards:
            with _without_interrupts():
                waiting.append(pool.submit(call, function, shard))
            if len(waiting) == 2 * num_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # also where the user or an error ends it: shards that were begun are waited for
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    # A worker that is being started inherits this: Ctrl-C, which reaches every process of the
    # terminal, would kill it before it can ignore it, and leave the pool waiting for it.
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    # The parent alone answers Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The cores are shared out already.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
