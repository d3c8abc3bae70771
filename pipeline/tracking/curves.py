"""The curves of a training as a picture among its run's artefacts."""

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.tracking.tracker import Tracker

if TYPE_CHECKING:
    from pipeline.experiments.curves import Curve


def log_picture(tracker: Tracker, name: str, *files: Path) -> None:
    """Draws what is in the curves' files; without any, nothing."""
    present = [file for file in files if file.exists()]
    if tracker.has_failed or not present:
        return
    from pipeline.experiments.curves import Training, draw_trainings

    curves = {key: curve for file in present for key, curve in _read(file).items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "curves.png"
        draw_trainings([Training(name, curves)], path)
        tracker.files("curves", [path])


def _read(file: Path) -> "dict[str, Curve]":
    from pipeline.experiments.curves import Curve

    with file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    steps = [int(row["step"]) for row in rows]
    names = [name for name in rows[0] if name != "step"] if rows else []
    return {name: Curve(steps, [float(row[name]) for row in rows]) for name in names}
