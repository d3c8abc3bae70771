"""What `dvc.lock` says of the results beside it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from pipeline.params import read_params
from pipeline.paths import PARAMS
from pipeline.tracking.digests import dvc_digest

LOCK = Path("dvc.lock")


class Run(NamedTuple):
    """A run of a stage: what it read, what it wrote. Digests are DVC's, by path."""

    cmd: str
    deps: Mapping[str, str]
    params: Mapping[str, Any]  # by section
    outs: Mapping[str, str]


def parse_run(entry: Mapping[str, Any]) -> Run:
    """A stage's entry in `dvc.lock`, or a file of DVC's run cache."""
    deps, outs = (
        {one["path"]: one["md5"] for one in entry.get(key, ())} for key in ("deps", "outs")
    )
    return Run(entry.get("cmd", ""), deps, entry.get("params", {}).get(str(PARAMS), {}), outs)


def parse_lock(text: str | None) -> dict[str, Run]:
    """The last run of each stage; nothing for a lock that is not there."""
    stages = YAML(typ="safe", pure=True).load(text)["stages"] if text else {}
    return {name: parse_run(entry) for name, entry in stages.items()}


def read_lock() -> dict[str, Run]:
    """`parse_lock` of the file in the working folder."""
    return parse_lock(LOCK.read_text(encoding="utf-8") if LOCK.exists() else None)


def find_differences() -> dict[str, str]:
    """For each stage whose results or params are not those of `dvc.lock`, what differs.

    Or what it read of an earlier stage is not what that one wrote since.

    Empty where all are level, and where there is no such file: DVC need not be used.
    """
    runs = read_lock()
    params = read_params() if runs else {}
    made = {path: digest for run in runs.values() for path, digest in run.outs.items()}
    found = {name: next(_differences(run, params, made), None) for name, run in runs.items()}
    return {name: what for name, what in found.items() if what is not None}


def _differences(run: Run, params: Mapping[str, Any], made: Mapping[str, str]) -> Iterator[str]:
    for section, value in run.params.items():
        if params.get(section) != value:
            yield f"{PARAMS} has another {section} than dvc.lock"
    for path, digest in run.outs.items():
        if not Path(path).exists():
            yield f"{path} is missing"
        elif dvc_digest(Path(path)) != digest:
            yield f"{path} is not the one of dvc.lock"
    for path, digest in run.deps.items():
        if made.get(path, digest) != digest:
            yield f"it was made from another {path}"
