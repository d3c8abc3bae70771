"""Requests that nobody would mean, to a service whose process has limits."""

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.robustness.cases import Result
from benchmarks.robustness.child import MEMORY_BYTES
from benchmarks.robustness.project import Project
from benchmarks.serving.fuzz import Answer, ask
from benchmarks.serving.servers import service

_TRACEBACK = "Traceback (most recent call last)"


def requests(num_cases: int, seed: int, project: Project, folder: Path) -> Iterator[Result]:
    """Requests by hand and of the service's own description, and what the service's log says."""
    log = folder / "service.log"
    model = project.folder / "models/translator"
    with service(model, log, "--deadline-seconds", "10", "--num-workers", "1") as server:
        mapped = psutil.Process(server.process.pid).memory_info().vms
        limits = (mapped + MEMORY_BYTES,) * 2
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, limits)
        answers, said = ask(server.url, num_cases, folder, seed)
        is_there = server.is_ready()
    yield from map(judge_answer, answers)
    if said.startswith("not run"):
        raise ValueError(f"requests from the description were {said}")
    # uvicorn ends by the signal that it was told to end by, once all is answered.
    if not is_there or server.process.returncode not in (0, -signal.SIGTERM):
        yield Result("the service at the end", "crashes", f"status {server.process.returncode}")
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if _TRACEBACK in line:
            yield Result("the service's log", "tracebacks", line[-3000:])


def judge_answer(answer: Answer) -> Result:
    """A request is answered, or refused with a reason; 503 has to say when to try again."""
    what, status, has_retry = answer
    if status is None:
        return Result(what, "hangs", "no answer")
    if status >= 500 and not (status == 503 and has_retry):
        return Result(what, "crashes", f"status {status}")
    # Bytes that are no request need no answer: the connection is closed.
    return Result(what, "accepted" if 200 <= status < 400 else "clear errors")
