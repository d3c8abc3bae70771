"""Curves of trainings, drawn over each other."""

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.experiments.results import ResultsError
from pipeline.paths import REPORTS

# Points at each of which a line gets a marker, if they are no more than this.
_MAX_MARKERS = 40
# Characters across the picture.
_MAX_LABEL = 110


@dataclass(frozen=True)
class Curve:
    """One figure over the steps of a training."""

    steps: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class Training:
    """The curves of one training, by name: `train_loss`, `valid_loss`, `perplexity`, ..."""

    name: str
    curves: dict[str, Curve]


def find_training(name: str) -> Training:
    """The curves of `workspace`, a git revision, a DVC experiment or an MLflow run.

    Raises:
        ResultsError: nothing has this name, or no model was trained there.
    """
    from pipeline.experiments.lookup import unknown
    from pipeline.experiments.mlflow_runs import read_histories
    from pipeline.experiments.revisions import open_revision

    with open_revision(name) as revision:
        if revision is not None:
            curves: dict[str, Curve] = {}
            for file in ("train_curve.csv", "valid_curve.csv"):
                text = revision.read((REPORTS / file).as_posix())
                if text is None:
                    raise ResultsError(
                        f"{name}: no {REPORTS}/{file} there, so nothing was trained; `dvc repro "
                        "train` or `dvc exp run` does that"
                    )
                curves |= parse_curves(text)
            return Training(name, curves)
    histories = read_histories(name, CURVES)
    if histories is None:
        raise unknown(name)
    if not histories:
        raise ResultsError(f"{name}: this MLflow run has no curves")
    return Training(name, {key: Curve(*history) for key, history in histories.items()})


def parse_curves(text: str) -> dict[str, Curve]:
    """What `train` writes to `reports/*_curve.csv`, by column."""
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [name for name in rows[0] if name != "step"] if rows else []
    steps = [int(row["step"]) for row in rows]
    return {name: Curve(steps, [float(row[name]) for row in rows]) for name in names}


# Title; for each line of a panel its curve, its style and what it is called; logarithmic or not.
_PANELS: Sequence[tuple[str, Sequence[tuple[str, str, str]], bool]] = (
    ("loss", (("valid_loss", "-", "validation"), ("train_loss", ":", "training")), False),
    ("validation perplexity", (("perplexity", "-", ""),), True),
    ("validation token accuracy", (("accuracy", "-", ""),), False),
    ("learning rate", (("learning_rate", "-", ""),), False),
)
CURVES = tuple(key for _, lines, _ in _PANELS for key, _, _ in lines)


def draw_trainings(trainings: Sequence[Training], path: Path) -> None:
    """Writes a PNG of four panels, a colour for each training; the same for the same figures."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogFormatter

    from transformer.evaluation.plots import write_figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    colors = [f"C{number % 10}" for number in range(len(trainings))]
    for axes, (title, lines, is_logarithmic) in zip(
        figure.subplots(2, 2).flat, _PANELS, strict=True
    ):
        for training, color in zip(trainings, colors, strict=True):
            for key, style, _ in lines:
                _draw(axes, training.curves.get(key), style, color)
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
        if is_logarithmic:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(LogFormatter())
            axes.yaxis.set_minor_formatter(LogFormatter())  # 2 and 3, not 2 x 10^0
        if len(lines) > 1:
            styles = [
                Line2D([], [], color="grey", ls=style, label=word) for _, style, word in lines
            ]
            axes.legend(handles=styles)
    labels = [textwrap.fill(training.name, _MAX_LABEL) for training in trainings]
    handles = [
        Line2D([], [], color=color, label=label)
        for label, color in zip(labels, colors, strict=True)
    ]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    columns = min(len(handles), max(1, _MAX_LABEL // (longest + 6)))
    legend = figure.legend(handles=handles, loc="outside upper center", ncols=columns)
    for text in legend.get_texts():
        text.set_parse_math(False)
    write_figure(figure, path)


def _draw(axes: Any, curve: Curve | None, style: str, color: str) -> None:
    if curve is not None:
        marker = "." if len(curve.steps) <= _MAX_MARKERS and style == "-" else ""
        axes.plot(curve.steps, curve.values, ls=style, color=color, marker=marker)
