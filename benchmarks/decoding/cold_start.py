"""How long a user waits for the first translation of the command line."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness.environment import ROOT, UnavailableError


def time_cold_starts(translator: Path, sentence: str, count: int) -> Iterator[float]:
    """Seconds from the start of a process to its first line of output, for each of several.

    Args:
        translator: an exported translator's folder.
        sentence: what it translates.
        count: how many processes, one after another.

    Raises:
        UnavailableError: the command failed.
    """
    command = [sys.executable, "-m", "pipeline", "translate"]
    command += ["--model", str(translator.resolve()), "--", sentence]
    for _ in range(count):
        started = time.perf_counter()
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            seconds = time.perf_counter() - started
            _, errors = process.communicate()
        if not line or process.returncode:
            said = errors.strip().splitlines()[-1:]
            raise UnavailableError(f"`python -m pipeline translate` failed: {said}")
        yield seconds
