"""Which stages DVC would run with other params, worked out over what it keeps in files.

`dvc repro --dry` and `dvc status` tell it of the params as they are, and no further than the first
stage that runs. What is read here has a documented form: dvc.yaml, dvc.lock and the run cache.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.flattening import flatten
from pipeline.paths import PARAMS
from pipeline.repository import list_outputs, run_dvc
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.dvc_lock import LOCK


class StageStatus(Enum):
    """What `dvc repro` would do with a stage."""

    RUNS = "runs"
    # It ran before on the same inputs, and the cache still has what it wrote.
    RESTORED = "restored"
    # Whether it runs depends on what a stage before it will write.
    MAY_RUN = "may run"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Forecast:
    """A stage, what would happen to it, and why."""

    stage: str
    status: StageStatus
    # Inputs that differ, outputs that are missing; of MAY_RUN the inputs that may change.
    reasons: tuple[str, ...]


class Project:
    """What DVC has of the working folder. Contents are hashed once."""

    def __init__(self) -> None:
        self.locked = _read_stages(LOCK.read_text(encoding="utf-8")) if LOCK.exists() else {}
        self.digest = cache(_digest)
        self._cache = Path(run_dvc("cache", "dir").strip())

    def has_in_cache(self, digest: str) -> bool:
        """Whether DVC's cache has a file, or a folder with all that is in it."""
        path = self._cache / "files" / "md5" / digest[:2] / digest[2:]
        if not path.exists() or not digest.endswith(".dir"):
            return path.exists()
        return all(self.has_in_cache(entry["md5"]) for entry in json.loads(path.read_bytes()))

    def find_run(self, inputs: "_Inputs", outputs: set[str]) -> Mapping[str, Any] | None:
        """The newest run in the cache on the same inputs that wrote the same paths."""
        files = self._cache.glob("runs/*/*/*")
        for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
            text = file.read_text(encoding="utf-8")
            if not all(str(digest) in text for digest in inputs.digests.values()):
                continue  # read as YAML, all of them would take seconds
            run: Mapping[str, Any] = _read_yaml(text)
            if not inputs.list_changes(run) and outputs == set(_written(run)):
                return run
        return None


def forecast_stages(project: Project, params: Mapping[str, Any]) -> list[Forecast]:
    """What `dvc repro` would do with each stage, in the order in which it would.

    Args:
        project: the working folder's.
        params: what params.yaml is taken to hold.
    """
    values = flatten(params)
    text = Path("dvc.yaml").read_text(encoding="utf-8")
    stages = _read_stages(re.sub(r"\$\{([\w.]+)\}", lambda key: str(values[key[1]]), text))
    outputs: dict[str, str | None] = {}  # the digest of each; None: only a run can tell
    forecasts = []
    for name, stage in stages.items():
        inputs = _Inputs(project, stage, params, outputs)
        status, reasons, written = _forecast(project, stage, inputs, project.locked.get(name))
        outputs |= {str(path): written.get(str(path)) for path in list_outputs(stage)}
        forecasts.append(Forecast(name, status, tuple(reasons)))
    return forecasts


class _Inputs:
    """What a stage would read."""

    def __init__(
        self,
        project: Project,
        stage: Mapping[str, Any],
        params: Mapping[str, Any],
        outputs: Mapping[str, str | None],
    ) -> None:
        self.cmd: str = stage["cmd"]
        self.params = {name: params.get(name) for name in stage.get("params", ())}
        self.unknown = [path for path in stage["deps"] if outputs.get(path, "") is None]
        known = [path for path in stage["deps"] if path not in self.unknown]
        self.digests = {path: outputs.get(path) or project.digest(path) for path in known}

    def list_changes(self, run: Mapping[str, Any]) -> list[str]:
        """What differs from the inputs of an earlier run, as far as it is known."""
        changes = [] if run["cmd"] == self.cmd else ["its entry in dvc.yaml"]
        then = {dependency["path"]: dependency["md5"] for dependency in run.get("deps", ())}
        for path, digest in self.digests.items():
            if digest is None:
                changes.append(f"{path} is missing")
            elif digest != then.get(path):
                changes.append(path)
        old, new = flatten(run.get("params", {}).get(str(PARAMS), {})), flatten(self.params)
        return changes + [key for key in old | new if old.get(key) != new.get(key)]


def _forecast(
    project: Project, stage: Mapping[str, Any], inputs: _Inputs, locked: Mapping[str, Any] | None
) -> tuple[StageStatus, list[str], dict[str, str]]:
    # The last item: the digests of what the stage will have written, as far as they are known.
    reasons = ["it always runs"] if stage.get("always_changed") else []
    if locked is None:
        reasons.append("it is not in dvc.lock yet")
    elif not stage.get("frozen"):
        reasons += inputs.list_changes(locked)
    if inputs.unknown:
        status = StageStatus.RUNS if reasons else StageStatus.MAY_RUN
        return status, reasons or inputs.unknown, {}
    run = locked
    if reasons:
        run = project.find_run(inputs, set(map(str, list_outputs(stage))))
    elif locked is not None and not (reasons := _list_lost(project, stage, _written(locked))):
        return StageStatus.UNCHANGED, [], _written(locked)
    if run is not None and all(map(project.has_in_cache, _written(run).values())):
        return StageStatus.RESTORED, reasons, _written(run)
    return StageStatus.RUNS, reasons, {}


def _list_lost(project: Project, stage: Mapping[str, Any], written: Mapping[str, str]) -> list[str]:
    states = []
    for path in map(str, list_outputs(stage)):
        digest = project.digest(path)
        if digest is None:
            states.append(f"{path} is deleted")
        elif digest != written.get(path):
            states.append(f"{path} is modified")
        elif path in stage["outs"] and not project.has_in_cache(digest):
            states.append(f"{path} is not in cache")
    if len(states) < 2:
        return states
    return [f"{states[0]}, and {len(states) - 1} more outputs are not as it left them"]


def _read_stages(text: str) -> dict[str, Any]:
    stages: dict[str, Any] = _read_yaml(text)["stages"]
    return stages


def _read_yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def _written(run: Mapping[str, Any]) -> dict[str, str]:
    return {out["path"]: out["md5"] for out in run["outs"]}


def _digest(path: str) -> str | None:
    return dvc_digest(Path(path)) if Path(path).exists() else None
