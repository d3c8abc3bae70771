"""The curves of a training as a picture among its run's artefacts."""

import tempfile
from pathlib import Path

from pipeline.tracking.tracker import Tracker


def log_picture(tracker: Tracker, name: str, *files: Path) -> None:
    """Draws what is in the curves' files; without any, nothing."""
    present = [file for file in files if file.exists()]
    if tracker.has_failed or not present:
        return
    from pipeline.experiments.curves import Training, draw_trainings, parse_curves

    texts = [file.read_text(encoding="utf-8") for file in present]
    curves = {key: curve for text in texts for key, curve in parse_curves(text).items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "curves.png"
        draw_trainings([Training(name, curves)], path)
        tracker.files("curves", [path])
