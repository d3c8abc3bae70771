"""A function in a forked process that may neither run nor wait for ever."""

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

MEMORY_BYTES = 6 * 2**30
# What wants less than this share of a processor for so long waits for what never comes.
_WAIT_SHARE = 0.03
_WAIT_SECONDS = 60


def in_child(function: Callable[[], int], log: Path, cpu_seconds: int | None = None) -> int | None:
    """Runs a function in a forked process with its printed text in a file.

    Args:
        cpu_seconds: time of the processor that it may take, which other processes don't change.

    Returns:
        its exit status; None if it didn't end by itself.
    """

    def run() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = int(function())
        sys.stdout.flush()
        os._exit(status)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    wanted: dict[str, float] = {}
    is_waiting = False
    while process.is_alive() and not is_waiting:
        process.join(_WAIT_SECONDS)
        before, wanted = wanted, _wanted_seconds(process.pid)
        more = sum(seconds - before.get(thread, 0) for thread, seconds in wanted.items())
        is_waiting = more < _WAIT_SHARE * _WAIT_SECONDS
    status = None if process.exitcode == -signal.SIGXCPU else process.exitcode
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # with what its tests have left running
    process.join()
    return status


def _wanted_seconds(pid: int | None) -> dict[str, float]:
    """For how long each thread of a process, and of all it has started, ran or waited for a core.

    So a thread that a busy machine lets wait is told from one that waits for something else.
    """
    found = {}
    with suppress(psutil.NoSuchProcess):
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            for file in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
                with suppress(OSError):
                    running, ready, _ = map(int, file.read_text().split())
                    found[str(file)] = (running + ready) / 1e9
    return found
