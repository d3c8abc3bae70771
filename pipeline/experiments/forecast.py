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

from pipeline.flattening import flatten, list_changes
from pipeline.repository import list_outputs, run_dvc
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.dvc_lock import Run, parse_run, read_lock


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
        self.last_runs = read_lock()
        self.digest = cache(_digest)
        self._cache = Path(run_dvc("cache", "dir").strip())

    def has_in_cache(self, digest: str) -> bool:
        """Whether DVC's cache has a file, or a folder with all that is in it."""
        path = self._cache / "files" / "md5" / digest[:2] / digest[2:]
        if not path.exists() or not digest.endswith(".dir"):
            return path.exists()
        return all(self.has_in_cache(entry["md5"]) for entry in json.loads(path.read_bytes()))

    def find_run(self, inputs: "_Inputs", outputs: set[str]) -> Run | None:
        """The newest run in the cache on the same inputs that wrote the same paths."""
        files = self._cache.glob("runs/*/*/*")
        for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
            text = file.read_text(encoding="utf-8")
            if not all(str(digest) in text for digest in inputs.digests.values()):
                continue  # read as YAML, all of them would take seconds
            run = parse_run(_read_yaml(text))
            is_same = run.deps.keys() == inputs.digests.keys() and run.outs.keys() == outputs
            if is_same and not inputs.list_changes(run):
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
    text = re.sub(r"\$\{([\w.]+)\}", lambda key: str(values[key[1]]), text)
    outputs: dict[str, str | None] = {}  # the digest of each; None: only a run can tell
    forecasts = []
    for name, stage in _read_yaml(text)["stages"].items():
        inputs = _Inputs(project, stage, params, outputs)
        status, reasons, written = _forecast(project, stage, inputs, project.last_runs.get(name))
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

    def list_changes(self, run: Run) -> list[str]:
        """What differs from the inputs of an earlier run, as far as it is known."""
        changes = [] if run.cmd == self.cmd else ["its entry in dvc.yaml"]
        for path, digest in self.digests.items():
            if digest is None:
                changes.append(f"{path} is missing")
            elif digest != run.deps.get(path):
                changes.append(path)
        return [*changes, *list_changes(run.params, self.params)]


def _forecast(
    project: Project, stage: Mapping[str, Any], inputs: _Inputs, last_run: Run | None
) -> tuple[StageStatus, list[str], Mapping[str, str]]:
    # The last item: the digests of what the stage will have written, as far as they are known.
    reasons = ["it always runs"] if stage.get("always_changed") else []
    if last_run is None:
        reasons.append("it is not in dvc.lock yet")
    elif not stage.get("frozen"):
        reasons += inputs.list_changes(last_run)
    if inputs.unknown:
        status = StageStatus.RUNS if reasons else StageStatus.MAY_RUN
        return status, reasons or inputs.unknown, {}
    run = last_run
    if reasons:
        run = project.find_run(inputs, set(map(str, list_outputs(stage))))
    elif last_run is not None and not (reasons := _list_lost(project, stage, last_run)):
        return StageStatus.UNCHANGED, [], last_run.outs
    if run is not None and all(map(project.has_in_cache, run.outs.values())):
        return StageStatus.RESTORED, reasons, run.outs
    return StageStatus.RUNS, reasons, {}


def _list_lost(project: Project, stage: Mapping[str, Any], run: Run) -> list[str]:
    states = []
    for path in map(str, list_outputs(stage)):
        digest = project.digest(path)
        if digest is None:
            states.append(f"{path} is deleted")
        elif digest != run.outs.get(path):
            states.append(f"{path} is modified")
        elif path in stage["outs"] and not project.has_in_cache(digest):
            states.append(f"{path} is not in cache")
    if len(states) < 2:
        return states
    return [f"{states[0]}, and {len(states) - 1} more outputs are not as it left them"]


def _read_yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def _digest(path: str) -> str | None:
    return dvc_digest(Path(path)) if Path(path).exists() else None
