"""Faults of disk and process: full, read-only, closed, killed, twice at once."""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.robustness.cases import GOOD, OUTCOMES, Result, judge
from benchmarks.robustness.child import Ended, Process, pipeline_command
from benchmarks.robustness.mutations import damage_bytes
from benchmarks.robustness.project import READS, STAGES, Project, hash_outputs
from pipeline.repository import output_paths

_CHEAP = tuple(stage for stage in STAGES if stage not in ("pretrain", "export"))
DATABASE = "mlruns/mlflow.db"


def disk(random: Random, project: Project, folder: Path) -> Result:
    """A stage that can't write, or not all, or has no streams; then again without the fault."""
    stage = random.choice(_CHEAP)
    project.copy(folder, *READS[stage])
    outputs = output_paths(stage)
    run = pipeline_command([stage])
    largest = max((project.folder / path).stat().st_size for path in project.outputs(stage))
    blocked = random.choice(outputs)
    faults: dict[str, Callable[[], Process]] = {
        "disk full": partial(Process, run, folder, file_bytes=random.randrange(largest)),
        "/dev/full": partial(Process, run, folder, stdout="/dev/full"),
        "standard output closed": partial(Process, run, folder, stdout=""),
        "standard input closed": partial(Process, run, folder, stdin=None),
        "read-only": partial(Process, partial(_without_privileges, run), folder),
        f"a file where {blocked.parent} should be": partial(Process, run, folder),
        f"a folder where {blocked} should be": partial(Process, run, folder),
    }
    what = random.choice(list(faults))
    for path in {path.parent for path in outputs}:
        if what == "read-only":
            (folder / path).mkdir(parents=True, exist_ok=True)
            (folder / path).chmod(0o555)
    place = folder / (blocked.parent if what.startswith("a file") else blocked)
    is_blocked = what.startswith("a f") and not place.exists()
    if is_blocked:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch() if what.startswith("a file") else (place / "x").mkdir(parents=True)
    ended = faults[what]().wait()
    for path in {path.parent for path in outputs}:
        if what == "read-only":
            (folder / path).chmod(0o755)
    if is_blocked and place.is_file():
        place.unlink()
    if is_blocked and place.is_dir() and (place / "x").exists():
        (place / "x").rmdir()
        place.rmdir()
    return _again(f"{stage}, {what}", ended, project, stage, folder)


def kill(random: Random, project: Project, folder: Path) -> Result:
    """`kill -9` at any moment of a stage, and the stage again."""
    stage = random.choices(STAGES, [1 if stage == "export" else 4 for stage in STAGES])[0]
    project.copy(folder, *READS[stage])
    seconds = random.uniform(0, _seconds(project, stage))
    process = Process(pipeline_command([stage]), folder, is_limited=False)
    time.sleep(seconds)
    process.kill()
    process.wait()
    ended = Process(pipeline_command([stage]), folder, is_limited=False).wait()
    what = f"{stage}, killed after {seconds:.3f} s"
    return judge(what, ended, project.outputs(stage), hash_outputs(folder, stage))


def two(random: Random, project: Project, folder: Path) -> Result:
    """A stage, and at the same time in the same folder itself or one that reads what it writes."""
    stage = random.choice(_CHEAP)
    written = {path.as_posix() for path in output_paths(stage)}
    readers = [other for other in _CHEAP if written.intersection(READS[other])]
    other = random.choice([stage, *readers])
    project.copy(folder, *{*READS[stage], *READS[other]})
    first = Process(pipeline_command([stage]), folder)
    time.sleep(random.choice([0, random.uniform(0, _seconds(project, stage))]))
    second = Process(pipeline_command([other]), folder)
    both = [(stage, first.wait()), (other, second.wait())]
    what = f"{stage} beside {other}"
    results = [
        _again(f"{what}: {name}", ended, project, name, folder)
        if ended.outcome in GOOD
        else judge(f"{what}: {name}", ended)
        for name, ended in both
    ]
    return max(results, key=lambda result: OUTCOMES.index(result.outcome))


def database(random: Random, project: Project, folder: Path) -> Result:
    """`ui` on a damaged database of MLflow."""
    project.copy(folder, DATABASE)
    what, raw = damage_bytes(random, (folder / DATABASE).read_bytes())
    (folder / DATABASE).write_bytes(raw)
    return judge(what, Process(_open_pages, folder).wait())


def make_database(project: Project) -> None:
    """Makes the database that `database` damages."""
    if not (project.folder / DATABASE).exists():
        ended = Process(_open_pages, project.folder, is_limited=False).wait()
        assert ended.outcome == "accepted", ended.errors


def measure_stages(project: Project) -> None:
    """How long each stage takes, so that kills are spread over all of it."""
    for stage in STAGES:
        if not _times(project, stage).exists():
            folder = project.folder / "timing" / stage
            project.copy(folder, *READS[stage])
            started = time.monotonic()
            ended = Process(pipeline_command([stage]), folder, is_limited=False).wait()
            assert ended.outcome == "accepted", ended.errors
            assert hash_outputs(folder, stage) == project.outputs(stage), f"{stage} varies"
            _times(project, stage).write_text(str(time.monotonic() - started))


def _times(project: Project, stage: str) -> Path:
    return project.folder / f"{stage}.seconds"


def _seconds(project: Project, stage: str) -> float:
    return float(_times(project, stage).read_text())


def _again(what: str, ended: Ended, project: Project, stage: str, folder: Path) -> Result:
    # What failed with a message succeeds without the fault, as if nothing had been.
    if ended.outcome == "clear errors":
        repeated = Process(pipeline_command([stage]), folder).wait()
        if repeated.outcome != "accepted":
            return judge(f"{what}, and again", repeated._replace(status=-1))
        result = judge(
            f"{what}, and again", repeated, project.outputs(stage), hash_outputs(folder, stage)
        )
        return result._replace(outcome="clear errors") if result.outcome == "accepted" else result
    return judge(what, ended, project.outputs(stage), hash_outputs(folder, stage))


def _open_pages() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "mlflow"]:
        del sys.modules[name]
    # The server itself is MLflow's.
    os.execv = lambda *_: sys.exit(0)
    pipeline_command(["ui", "--port", "0"])()


def _without_privileges(run: Callable[[], None]) -> None:
    # Root may write anywhere by a capability, which a process can give up.
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    run()
