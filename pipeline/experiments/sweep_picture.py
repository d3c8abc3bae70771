"""BLEU over a grid of settings, as a picture."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.experiments.grid import Grid

# BLEU with half the width of its 95 % interval, by a point's place on the grid.
Scores = Mapping[tuple[int, ...], tuple[float, float]]
# Of a title's letters.
_CHARACTERS_PER_INCH = 10


def draw_sweep(grid: Grid, scores: Scores, path: Path) -> None:
    """Writes a PNG: a heat map over two axes, points with intervals over one.

    Args:
        grid: of one or two axes.
        scores: of the experiments that have run; the others stay blank.
        path: the PNG file.

    Raises:
        ValueError: nothing has run.
    """
    from matplotlib.figure import Figure

    from transformer.evaluation.plots import write_figure

    if not scores:
        raise ValueError("none of the sweep's experiments has run, so there is nothing to draw")
    columns, rows = len(grid.axes[-1].values), len(grid.axes[0].values)
    size = (max(5.0, 2.2 + 1.4 * columns), max(3.5, 1.6 + 0.9 * rows))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    draw = _draw_map if len(grid.axes) == 2 else _draw_points
    draw(axes, grid, scores)
    lines = ["BLEU on the test set, 95 % intervals", ", ".join(grid.fixed)]
    # Longer lines would be cut at the picture's edges.
    room = int(size[0] * _CHARACTERS_PER_INCH)
    wrapped = [part for line in lines for part in textwrap.wrap(line, room)]
    axes.set_title("\n".join(wrapped), fontsize=10, parse_math=False)
    write_figure(figure, path)


def _draw_map(axes: Any, grid: Grid, scores: Scores) -> None:
    from matplotlib.patches import Rectangle

    down, across = grid.axes
    cells = [
        [scores.get((row, column), (float("nan"), 0.0))[0] for column in range(len(across.values))]
        for row in range(len(down.values))
    ]
    image = axes.imshow(cells, cmap="viridis", aspect="auto")
    best = max(scores, key=lambda place: scores[place][0])
    lowest, highest = image.get_clim()
    for row in range(len(down.values)):
        for column in range(len(across.values)):
            if (row, column) not in scores:
                axes.text(column, row, "not run", ha="center", va="center", color="grey")
                continue
            value, margin = scores[row, column]
            is_dark = value < (lowest + highest) / 2
            axes.text(
                column, row, f"{value:.2f}\n± {margin:.2f}", ha="center", va="center",
                color="white" if is_dark else "black",
            )  # fmt: skip
    corner = (best[1] - 0.48, best[0] - 0.48)
    axes.add_patch(Rectangle(corner, 0.96, 0.96, fill=False, edgecolor="red", linewidth=2.5))
    axes.set_xticks(range(len(across.values)), across.values)
    axes.set_yticks(range(len(down.values)), down.values)
    axes.set_xlabel(f"{across.label} (the best outlined in red)")
    axes.set_ylabel(down.label)


def _draw_points(axes: Any, grid: Grid, scores: Scores) -> None:
    (axis,) = grid.axes
    places = sorted(scores)
    values, margins = zip(*(scores[place] for place in places), strict=True)
    axes.errorbar([place[0] for place in places], values, yerr=margins, fmt="o", capsize=4)
    axes.set_xticks(range(len(axis.values)), axis.values)
    axes.set_xlabel(axis.label)
    axes.set_ylabel("BLEU")
    axes.margins(x=0.1)
    axes.grid(alpha=0.3)
