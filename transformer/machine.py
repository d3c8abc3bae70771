"""What this machine has: cores, memory."""

import os
import sys
from contextlib import suppress
from pathlib import Path

# What a container may have of the machine's memory, by version 2 and version 1 of control groups.
_MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
_CGROUPS = Path("/sys/fs/cgroup")
# Far more than a core has use for, so that what a machine with more of them trained with the same
# number of threads can be had again here.
THREADS_PER_CORE = 32


def count_cores() -> int:
    """Those that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int | None:
    """The main memory that this process may use, in bytes; None: the system doesn't tell."""
    found = []
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _MEMORY_LIMITS:
        with suppress(OSError, ValueError):  # "max" is no limit
            found.append(int((_CGROUPS / name).read_text()))
    return min(found, default=None)


def check_threads(num_threads: int) -> None:
    """Refuses threads that the system may fail to start, which ends the process without a word.

    Raises:
        ValueError: there are more of them than any core has use for.
    """
    most = THREADS_PER_CORE * count_cores()
    if num_threads > most:
        raise ValueError(
            f"num_threads = {num_threads}: this machine has {count_cores()} cores; at most {most}"
        )
