"""DVC's queue: what is in it, what has run, and a worker for the rest."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.corpus_check import find_unknown_files, list_inputs
from pipeline.experiments.changed_params import change_params
from pipeline.experiments.grid import Point
from pipeline.experiments.results import ResultsError
from pipeline.experiments.revisions import open_revision
from pipeline.flattening import list_changes
from pipeline.params import parse_params
from pipeline.paths import PARAMS
from pipeline.repository import run_dvc


def list_experiments() -> dict[str, Mapping[str, Any]]:
    """The experiments of the last commit by name: `State` and metrics, as `dvc exp show` has."""
    from dvc.api import exp_show

    return {row["Experiment"]: row for row in exp_show() if row["Experiment"]}


def has_run(row: Mapping[str, Any]) -> bool:
    """Whether an experiment of the list ran to its end."""
    return row["State"] in (None, "Success")  # None: it never was in the queue


class Queued(NamedTuple):
    """What became of a sweep's experiments."""

    now: list[Point]
    # Among them those that waited already.
    waiting: list[Point]


def queue_missing(points: Sequence[Point]) -> Queued:
    """Queues the experiments that neither have run nor wait, failed ones again.

    Raises:
        ResultsError: one was run under this name with other params.
        ConfigError: one has params that are not valid; then none is queued.
        ValueError: neither git nor DVC knows a file that they read, so that copies would lack it.
    """
    params = [change_params(point.changes) for point in points]
    if unknown := find_unknown_files(path for one in params for path in list_inputs(one)):
        raise ValueError(unknown)
    known = list_experiments()
    if any(row["State"] == "Running" for row in known.values()):
        _fail_abandoned()
        known = list_experiments()
    missing, waiting = [], []
    for point, expected in zip(points, params, strict=True):
        row = known.get(point.name)
        if row is None or row["State"] == "Failed":
            missing.append(point)
        elif has_run(row):
            _check_params(point.name, expected)
        else:
            waiting.append(point)
    for point in missing:
        if point.name in known:
            run_dvc("queue", "remove", point.name)
        changes = [part for change in point.changes for part in ("-S", change)]
        run_dvc("exp", "run", "--queue", "--name", point.name, *changes)
    return Queued(missing, missing + waiting)


def run_queue(num_jobs: int) -> None:
    """Runs all that is in the queue, and follows it; Ctrl-C ends the following only."""
    environment = dict(os.environ)
    if num_jobs > 1:
        # Threads that spin while they wait take the cores from the other trainings.
        environment.setdefault("OMP_WAIT_POLICY", "passive")
    command = [sys.executable, "-m", "dvc", "exp", "run", "--run-all", "--jobs", str(num_jobs)]
    subprocess.run(command, env=environment, check=False)


def _fail_abandoned() -> None:
    # A worker that was killed outright leaves its experiment `Running` for ever; `dvc queue kill`
    # notices that no process is left, and marks it as failed.
    for baseline in json.loads(run_dvc("exp", "show", "--json")):
        for experiment in baseline["experiments"] or ():
            executor = experiment["executor"] or {}
            process = (executor.get("local") or {}).get("pid")
            if executor.get("state") == "running" and process and not _is_alive(process):
                run_dvc("queue", "kill", experiment["name"])


def _is_alive(process: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(process))


def _check_params(name: str, expected: Mapping[str, Any]) -> None:
    with open_revision(name) as revision:
        text = revision.read(PARAMS.as_posix()) if revision is not None else None
    differences = list_changes(parse_params(text or "", name), expected)
    if differences:
        raise ResultsError(
            f"{name} was run with other values of {', '.join(differences)}; "
            f"`dvc exp remove {name}` makes room, or commit {PARAMS} first: each commit has "
            "experiments of its own"
        )
