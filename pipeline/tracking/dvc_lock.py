"""What `dvc.lock` says of the results beside it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.params import read_params
from pipeline.paths import PARAMS
from pipeline.tracking.digests import dvc_digest

LOCK = Path("dvc.lock")


def find_differences(lock: Path = LOCK) -> dict[str, str]:
    """For each stage whose results or params are not those of `dvc.lock`, what differs.

    Or what it read of an earlier stage is not what that one wrote since.

    Empty where all are level, and where there is no such file: DVC need not be used.
    """
    if not lock.exists():
        return {}
    stages = YAML(typ="safe", pure=True).load(lock.read_text(encoding="utf-8"))["stages"]
    params = read_params()
    made = {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs", [])}
    found = {name: next(_differences(stage, params, made), None) for name, stage in stages.items()}
    return {name: what for name, what in found.items() if what is not None}


def _differences(
    stage: Mapping[str, Any], params: Mapping[str, Any], made: Mapping[str, str]
) -> Iterator[str]:
    for section, value in stage.get("params", {}).get(str(PARAMS), {}).items():
        if params.get(section) != value:
            yield f"{PARAMS} has another {section} than dvc.lock"
    for out in stage.get("outs", []):
        path = Path(out["path"])
        if not path.exists():
            yield f"{path} is missing"
        elif dvc_digest(path) != out["md5"]:
            yield f"{path} is not the one of dvc.lock"
    for dependency in stage.get("deps", []):
        if made.get(dependency["path"], dependency["md5"]) != dependency["md5"]:
            yield f"it was made from another {dependency['path']}"
