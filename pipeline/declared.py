"""What dvc.yaml declares of a stage."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]


def declared(stage: str) -> Mapping[str, Any]:
    """The stage's entry."""
    entry: Mapping[str, Any] = YAML(typ="safe", pure=True).load(ROOT / "dvc.yaml")["stages"][stage]
    return entry


def code_dependencies(stage: str) -> list[Path]:
    """The files and folders of code that the stage depends on, relative to `ROOT`."""
    names = declared(stage)["deps"]
    return [Path(name) for name in names if name.startswith(("pipeline/", "transformer/"))]


def code_files(stage: str) -> list[Path]:
    """The Python files among them, folders opened, relative to `ROOT`."""
    paths = [ROOT / path for path in code_dependencies(stage)]
    files = {file for path in paths for file in (path, *path.rglob("*.py"))}
    return sorted(file.relative_to(ROOT) for file in files if file.suffix == ".py")


def output_paths(stage: str) -> list[Path]:
    """The files and folders that the stage writes and DVC knows of."""
    entry = declared(stage)
    outputs = [*entry["outs"], *entry.get("metrics", ()), *entry.get("plots", ())]
    return [Path(out if isinstance(out, str) else next(iter(out))) for out in outputs]
