"""The repository: where it lies, what its dvc.yaml declares, git and DVC as commands in it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from transformer.files import sha256_file

# Of the code that runs; a stage that runs in a copy under `.dvc/tmp/exps` has that copy's.
ROOT = Path(__file__).parents[1]
# Remembers which token ids were read through and found sound; ignored by git and DVC.
CHECKED_IDS = Path(".state/checked-ids.json")
# Where `synthesize` keeps what it has made until all is.
SYNTHESIS = Path(".state/synthesize")


def main_checkout() -> Path:
    """The repository's own folder, also for a stage that runs in a copy under `.dvc/tmp/exps`."""
    here = Path(os.environ.get("DVC_ROOT", Path.cwd())).resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here


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


def hash_code(stage: str) -> dict[str, str]:
    """The SHA-256 of each of `code_files`, by its path."""
    return {file.as_posix(): sha256_file(ROOT / file) for file in code_files(stage)}


def output_paths(stage: str) -> list[Path]:
    """The files and folders that the stage writes and DVC knows of."""
    return list_outputs(declared(stage))


def list_outputs(entry: Mapping[str, Any]) -> list[Path]:
    """As `output_paths`, of a stage's entry."""
    outputs = [*entry["outs"], *entry.get("metrics", ()), *entry.get("plots", ())]
    return [Path(out if isinstance(out, str) else next(iter(out))) for out in outputs]


def run_git(*arguments: str) -> str:
    """What git prints; nothing where it fails, or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run_dvc(*arguments: str) -> str:
    """Runs DVC's command line in the working folder, and returns what it printed.

    Raises:
        ValueError: it failed; the message has its words.
    """
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"dvc {' '.join(arguments)} failed:\n{done.stderr.strip()}")
    return done.stdout
