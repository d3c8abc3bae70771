"""One attempt in a process of its own, with limits of memory and time."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

# A machine that others use too must not make a hang of what is merely slow: work counts by the
# processor's clock.
CPU_SECONDS = 30
WALL_SECONDS = 120
# On top of what the warm process has mapped already.
MEMORY_BYTES = 3 << 30


class Ended(NamedTuple):
    """How a process ended, and what it said."""

    status: int | None  # negative: the signal; None: it was killed, over its time
    output: str
    errors: str

    @property
    def outcome(self) -> str:
        """A column of the table: clear errors, accepted, tracebacks, crashes or hangs."""
        if self.status is None or -self.status == signal.SIGXCPU:
            return "hangs"
        if self.status < 0:
            return "crashes"
        if "Traceback (most recent call last)" in self.errors:
            return "tracebacks"
        if self.status == 0:
            return "accepted"
        has_message = any(word in self.errors for word in ("error: ", "Usage: ", "Stopped after"))
        return "clear errors" if has_message else "crashes"


class Process:
    """A forked process that runs `function` in `folder`; its standard streams go to files.

    The process that forks has to have one thread, and everything imported that takes time.

    Args:
        function: the process's exit status is 0 where it returns, as `sys.exit` says where it
            exits, 1 with a traceback where it raises.
        folder: the working folder.
        stdin: what it reads; None: the stream is closed.
        stdout: a file or device in place of the captured one; "" closes the stream.
        file_bytes: the largest file that it may write, a disk that fills up.
        is_limited: whether it has limits of memory and time.
    """

    def __init__(
        self,
        function: Callable[[], object],
        folder: Path,
        *,
        stdin: bytes | None = b"",
        stdout: str | None = None,
        file_bytes: int | None = None,
        is_limited: bool = True,
    ) -> None:
        self._is_limited = is_limited
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.setpgid(0, 0)
                os.chdir(folder)
                _redirect(stdin, stdout, self._out, self._err)
                if is_limited:
                    _limit(file_bytes)
                status = _run(function)
            finally:
                os._exit(status)

    def kill(self) -> None:
        """SIGKILL to it and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self) -> Ended:
        """Until it ends, or its time is up."""
        status, pause = None, 0.002
        while status is None:
            pid, raw = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(raw)
            elif self._is_limited and time.monotonic() - self._started > WALL_SECONDS:
                self.kill()
                os.waitpid(self.pid, 0)
                break
            else:
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        return Ended(status, _text(self._out), _text(self._err))


def pipeline_command(arguments: Sequence[str]) -> Callable[[], None]:
    """What `python -m pipeline ARGUMENTS` does."""

    def run() -> None:
        from pipeline.__main__ import main

        sys.argv = ["pipeline", *arguments]
        main()

    return run


def _redirect(stdin: bytes | None, stdout: str | None, out: IO[bytes], err: IO[bytes]) -> None:
    if stdin is None:
        os.close(0)
        sys.stdin = None
    else:
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            os.dup2(file.fileno(), 0)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.dup2(err.fileno(), 2)
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )
    if stdout == "":
        os.close(1)
        sys.stdout = None
        return
    descriptor = out.fileno() if stdout is None else os.open(stdout, os.O_WRONLY)
    os.dup2(descriptor, 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _limit(file_bytes: int | None) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = {
        resource.RLIMIT_AS: pages * resource.getpagesize() + MEMORY_BYTES,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_CORE: 0,
    }
    if file_bytes is not None:
        limits[resource.RLIMIT_FSIZE] = file_bytes
    for what, most in limits.items():
        # The second is where the kernel kills at once, in place of SIGXCPU, which tells why.
        resource.setrlimit(what, (most, most + 1 if what == resource.RLIMIT_CPU else most))


def _run(function: Callable[[], object]) -> int:
    status = 1
    try:
        function()
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    # As Python does at its end, where a stream that can't be written is an error too.
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            status = status or 120
    return status


def _text(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8", "replace")
