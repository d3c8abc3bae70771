"""Whether training repeats, and goes on after a kill, to the bit; what determinism costs."""

import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from benchmarks.gpu.cells import PROJECT, Cell, Setting
from benchmarks.gpu.steps import Steps, largest_difference, reference_steps
from benchmarks.harness.environment import run_command
from transformer.files import read_json, write_json

# Of a cell: the changes to the section `train`. What is claimed comes first.
KINDS: dict[str, dict[str, Any]] = {
    "compiled, deterministic": {"compile": True, "deterministic": True},
    "eager, deterministic": {"compile": False, "deterministic": True},
    "compiled": {"compile": True, "deterministic": False},
    "eager": {"compile": False, "deterministic": False},
}
_NUM_STEPS = 200


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """The cells of the part `resume`."""
    return [
        Cell(
            kind,
            partial(_measure, setting, changes),
            240 if changes["compile"] else 120,
        )
        for kind, changes in KINDS.items()
        if changes["deterministic"] or not setting.is_tiny
    ]


def _measure(setting: Setting, changes: dict[str, Any]) -> dict[str, Any]:
    """Two whole trainings, and one that is killed half-way, each process on its own."""
    num_steps = 6 if setting.is_tiny else _NUM_STEPS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = reference_steps(
            setting.packed / PROJECT, num_steps, device=setting.device.type, **changes
        )
        first, second = (
            _run(folder, f"whole {number}", whole._replace(weights=str(folder / str(number))))
            for number in (1, 2)
        )
        killed = whole._replace(states=str(folder / "states"))
        _run(folder, "killed", killed._replace(stop_at=num_steps // 2, is_killed=True))
        resumed = _run(folder, "resumed", killed._replace(weights=str(folder / "resumed")))
        weights = [load_file(folder / which) for which in ("1", "2", "resumed")]
    half = first["losses"][num_steps // 2 :]

    def distance(other: int) -> float:
        return max(
            float((value - weights[other][key]).abs().max()) for key, value in weights[0].items()
        )

    return {
        "is_repeated": first["sha256"] == second["sha256"],
        "repeated_largest_weight_difference": distance(1),
        "repeated_largest_loss_difference": largest_difference(second["losses"], first["losses"]),
        "is_resumed": first["sha256"] == resumed["sha256"],
        "resumed_largest_weight_difference": distance(2),
        "resumed_largest_loss_difference": largest_difference(resumed["losses"], half),
        "seconds_a_step": min(first["seconds_a_step"], second["seconds_a_step"]),
    }


def _run(folder: Path, name: str, steps: Steps) -> dict[str, Any]:
    work = folder / f"{name}.json"
    write_json(work, steps._asdict())
    command = [sys.executable, "-m", "benchmarks.gpu.steps", str(work)]
    status = -signal.SIGKILL if steps.is_killed else 0
    run_command(command, expected_status=status, timeout_seconds=None)
    if steps.is_killed:
        return {}
    values: dict[str, Any] = read_json(work.with_suffix(".result.json"))
    return values
