"""Which stages DVC would run, worked out over its own graph and locks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pipeline.tracking.flattening import flatten


class Fate(Enum):
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
    fate: Fate
    # Inputs that differ, outputs that are missing; of MAY_RUN the inputs that may change.
    reasons: tuple[str, ...]


# The hash of an output that only a run can tell.
_UNKNOWN = object()


def forecast_stages(repo: Any) -> list[Forecast]:
    """What `dvc repro` would do with each stage, in the order in which it would.

    Args:
        repo: DVC's repository; nothing in it is written.
    """
    from dvc.repo.reproduce import get_active_graph, plan_repro

    outputs: dict[str, Any] = {}
    forecasts = []
    for stage in plan_repro(get_active_graph(repo.index.graph)):
        fate, reasons, hashes = _forecast(stage, outputs)
        outputs |= {out.fs_path: hashes.get(out.def_path, _UNKNOWN) for out in stage.outs}
        forecasts.append(Forecast(stage.addressing, fate, tuple(reasons)))
    return forecasts


def _forecast(stage: Any, outputs: Mapping[str, Any]) -> tuple[Fate, list[str], dict[str, Any]]:
    # The last item: the hashes of what the stage's outputs will be, as far as they are known.
    reasons, open_questions = [], []
    if stage.always_changed or stage.is_callback:
        reasons.append("it always runs")
    is_new = not any(out.hash_info for out in stage.outs)
    if is_new:
        reasons.append("it is not in dvc.lock yet")
    elif stage.changed_stage():
        reasons.append("its entry in dvc.yaml")
    for dependency in () if stage.frozen else stage.deps:
        expected = _find_output(dependency.fs_path, outputs)
        if expected is _UNKNOWN:
            open_questions.append(str(dependency))
        elif (reason := _compare(dependency, expected)) and not is_new:
            reasons.append(reason)
    if open_questions:
        return (Fate.RUNS, reasons, {}) if reasons else (Fate.MAY_RUN, open_questions, {})
    has_new_inputs = bool(reasons)
    if not is_new:
        reasons += _describe_outputs(stage)
    if not reasons:
        return Fate.UNCHANGED, [], _hashes(stage)
    cached = _find_cached(stage, has_new_inputs)
    return (Fate.RESTORED, reasons, _hashes(cached)) if cached else (Fate.RUNS, reasons, {})


def _find_output(path: str, outputs: Mapping[str, Any]) -> Any:
    # None: no stage writes it. Files in a folder that a stage writes, and the reverse, are
    # as good as unknown when that folder is.
    if path in outputs:
        return outputs[path]
    for other, expected in outputs.items():
        nested = path.startswith(f"{other}/") or other.startswith(f"{path}/")
        if nested and expected is _UNKNOWN:
            return _UNKNOWN
    return None


def _compare(dependency: Any, expected: Any) -> str | None:
    # What differs from the last run. Leaves in the dependency the hash that it would have.
    from dvc.dependency import ParamsDependency
    from dvc.dependency.base import DependencyDoesNotExistError

    recorded = dependency.hash_info
    try:
        now = expected if expected is not None else dependency.get_hash()
    except (DependencyDoesNotExistError, FileNotFoundError):
        return f"{dependency} is missing"
    dependency.hash_info = now
    if now == recorded:
        return None
    if isinstance(dependency, ParamsDependency):
        old, new = flatten(recorded.value or {}), flatten(now.value)
        return ", ".join(key for key in old | new if old.get(key) != new.get(key))
    return str(dependency)


def _describe_outputs(stage: Any) -> list[str]:
    states = [(str(out), state) for out in stage.outs for state in out.status().values()]
    if len(states) < 2:
        return [f"{out} is {state}" for out, state in states]
    return [f"{states[0][0]} and {len(states) - 1} more outputs are not as it left them"]


def _find_cached(stage: Any, has_new_inputs: bool) -> Any:
    # The stage as DVC would restore it, or None. DVC's own way to ask for that wants the inputs to
    # lie there, which they may not yet.
    from dvc.stage.cache import _get_cache_hash
    from dvc.stage.serialize import to_single_stage_lockfile

    cache = stage.repo.stage_cache
    entry = to_single_stage_lockfile(stage)
    if has_new_inputs:
        key = _get_cache_hash(entry, key=True)
        runs = Path(cache._get_cache_dir(key))
        newest = max(runs.glob("*"), key=lambda path: path.stat().st_mtime, default=None)
        entry = cache._load_cache(key, newest.name) if newest else None
    restored = entry and cache._create_stage(entry, wdir=stage.wdir)
    return restored if restored and restored.outs_cached() else None


def _hashes(stage: Any) -> dict[str, Any]:
    return {out.def_path: out.hash_info for out in stage.outs}
