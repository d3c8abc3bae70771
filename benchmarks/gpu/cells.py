"""Measurements one by one, each kept as soon as it is made."""

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from transformer.files import read_json, write_json

# What the folder that `pack` writes holds.
PROJECT, TRANSLATOR, REFERENCE, COMMIT = "project", "translator", "reference.json", "commit.txt"
# A cell that took the process with it so often is left out.
_MAX_ATTEMPTS = 2


@dataclass(frozen=True)
class Setting:
    """What every part is told."""

    device: torch.device
    is_tiny: bool  # a miniature of everything, to show that it runs
    packed: Path  # what the part `pack` wrote
    work: Path  # a folder for what outlives a call, but is no result
    deadline: float  # by time.monotonic()


class Cell(NamedTuple):
    """One measurement."""

    name: str
    measure: Callable[[], dict[str, Any]]  # gives values for JSON
    seconds: float  # that it takes on a fast GPU, about


class UnfinishedError(Exception):
    """A cell that has come as far as time allowed, and goes on at the next call."""


def describe(device: torch.device, packed: Path) -> dict[str, Any]:
    """Device, versions and commit by name; equal for all calls of one set of measurements."""
    is_cuda, commit = device.type == "cuda", packed / COMMIT
    facts: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if is_cuda else device.type,
        "torch": torch.__version__,
        "commit": commit.read_text().strip() if commit.exists() else "unknown",
    }
    if is_cuda:
        facts["cuda"] = torch.version.cuda
        facts["cudnn"] = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return facts


def run_cells(
    path: Path,
    cells: Sequence[Cell],
    facts: Mapping[str, Any],
    setting: Setting,
    tell: Callable[[str], None],
) -> int:
    """Measures what the file lacks, as far as time allows; returns how many cells are left.

    A cell that fails has its error in place of values, and is not tried again. Where a GPU then
    answers no more, as after a fault in a kernel, the others are left to another process.

    Args:
        path: JSON, {"facts": …, "cells": {name: values}}.
        cells: in the order in which they are made.
        facts: on machine and code; results of others are not mixed with theirs.
        setting: for the deadline.
        tell: hears a line for each cell.

    Raises:
        ValueError: the file holds results of another machine or commit.
    """
    result: dict[str, Any] = {"facts": dict(facts), "cells": {}}
    if path.exists():
        result = read_json(path)
        if result["facts"] != facts:
            raise ValueError(
                f"{path} has results of {result['facts']}, but this is {dict(facts)}; "
                "move it away, or give another --output"
            )
    done: dict[str, Any] = result["cells"]

    def keep(cell: Cell, values: Mapping[str, Any]) -> None:
        done[cell.name] = values
        write_json(path, result)

    for index, cell in enumerate(cells):
        values = done.get(cell.name, {})
        if values and "attempts" not in values:
            continue
        attempts = values.get("attempts", 0)
        if attempts == _MAX_ATTEMPTS:
            keep(cell, {"error": f"the process ended {attempts} times while it was measured"})
            continue
        if time.monotonic() + cell.seconds > setting.deadline:
            tell(f"no time left for {cell.name}")
            return len(cells) - index
        tell(cell.name)
        keep(cell, {"attempts": attempts + 1})
        started = time.monotonic()
        try:
            values = cell.measure() | {"took_seconds": round(time.monotonic() - started, 1)}
        except UnfinishedError as unfinished:
            keep(cell, {"attempts": 0})
            tell(f"{cell.name}: {unfinished}")
            return len(cells) - index
        except Exception as error:
            traceback.print_exc()
            values = {"error": f"{type(error).__name__}: {error}"}
        keep(cell, values)
        if "error" in values and not _answers(setting.device):
            tell(f"{cell.name}: the GPU no longer answers this process")
            return len(cells) - index - 1
    return 0


def _answers(device: torch.device) -> bool:
    if device.type != "cuda":
        return True
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        return False
    return True
