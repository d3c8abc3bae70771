"""Worker processes, of which one at a time may run."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from benchmarks.harness.environment import ROOT, UnavailableError

# Settings of thread pools that the caller's shell may hold: each variant sets its own.
POOL_SETTINGS = ("OMP_", "GOMP_", "KMP_", "MKL_", "CT2_", "OPENBLAS_", "ORT_")


class Worker:
    """A process that answers requests, and is stopped in between.

    Thread pools go on spinning for a while after their work; a process that is stopped can't take
    the cores from the one that is measured.

    Args:
        command: starts it; it speaks `benchmarks.decoding.work`.
        environment: on top of ours, in which no thread pool's setting is left.

    Attributes:
        greeting: its first answer.

    Raises:
        UnavailableError: it could not load.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(POOL_SETTINGS)}
        # As long-lived as this object; a pipe that nobody reads would fill up.
        self._errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115
        # A group of its own, to be stopped whole. It stays in our session, so that the kernel
        # ends it, stopped as it may be, if we die.
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=inherited | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            process_group=0,
        )
        try:
            self.greeting = self._receive()
        except UnavailableError:
            self.close()
            raise
        self._signal(signal.SIGSTOP)

    def ask(self, kind: str, **values: Any) -> dict[str, Any]:
        """Wakes it for one request.

        Raises:
            UnavailableError: it failed.
        """
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps({"kind": kind, **values}) + "\n")
            self._process.stdin.flush()
            return self._receive()
        except BrokenPipeError:
            return self._receive()  # which tells why it has ended
        finally:
            self._signal(signal.SIGSTOP)

    def close(self) -> None:
        """Ends the process."""
        self._signal(signal.SIGCONT)
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._errors.seek(0)
            said = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
            raise UnavailableError(f"the worker ended with status {status}: {said[-1:]}")
        values: dict[str, Any] = json.loads(line)
        if "error" in values:
            raise UnavailableError(str(values["error"]))
        return values

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)
