"""The picture of a run: sentences a second, side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PREFIX = "sentences a second: "


def draw(path: Path, figures: Mapping[str, Any]) -> None:
    """Writes a bar for each speed; nothing where none was measured."""
    import matplotlib.pyplot as plt

    speeds = {n.removeprefix(_PREFIX): v for n, v in figures.items() if n.startswith(_PREFIX)}
    if not speeds:
        return
    figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
    bars = axes.barh(list(speeds), list(speeds.values()), color="#3b6ea5")
    axes.bar_label(bars, fmt="%.0f", padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("sentences a second")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
