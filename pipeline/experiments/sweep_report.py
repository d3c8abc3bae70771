"""What a sweep came to, in figures and words."""

from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from pipeline.experiments.grid import Point
from pipeline.experiments.queueing import has_run
from pipeline.experiments.sweep_picture import Scores


def collect_scores(points: Sequence[Point], rows: Mapping[str, Mapping[str, Any]]) -> Scores:
    """BLEU with half the width of its interval, of the experiments that have run.

    Args:
        points: of the sweep.
        rows: what `dvc exp show` has, by name.
    """
    known = [(point.place, rows[point.name]) for point in points if point.name in rows]
    return {
        place: (row[f"{quick}bleu"], row[f"{quick}bleu_margin"])
        for place, row in known
        for quick in ("", "quick_")  # of a quick sweep all experiments are
        if has_run(row) and row.get(f"{quick}bleu") is not None
    }


def describe_sweep(
    points: Sequence[Point], rows: Mapping[str, Mapping[str, Any]], scores: Scores
) -> str:
    """A line for each experiment, the best first, and what to do with those that did not run."""
    ranked = sorted(points, key=lambda point: -scores.get(point.place, (-1.0, 0.0))[0])
    told = [[_tell(point, rows, scores), point.name] for point in ranked]
    lines = [tabulate(told, tablefmt="plain", disable_numparse=True)]
    if len(scores) < len(points):
        lines.append("`dvc queue logs NAME` says what went wrong; the same command tries again.")
    elif len(points) > 1:
        best, second = ranked[:2]
        lines.append(f"By chance? python -m pipeline compare {second.name} {best.name}")
    return "\n".join(lines)


def _tell(point: Point, rows: Mapping[str, Mapping[str, Any]], scores: Scores) -> str:
    if point.place in scores:
        value, margin = scores[point.place]
        return f"BLEU {value:6.2f} ± {margin:.2f}"
    return str(rows.get(point.name, {}).get("State") or "missing").lower()
