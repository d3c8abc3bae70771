"""The table of experiments, for a terminal of any width or a pipe."""

from collections.abc import Sequence
from itertools import groupby

from tabulate import tabulate

from pipeline.experiments.overview import Experiment
from pipeline.tracking.run_names import list_differences

_BEAM_SIZE = "search.beam_size"
_FIGURES = {"chrf": "chrF++", "int8_bleu": "int8", "perplexity": "perplexity"}
_MARK = "*"
# Characters that a column which is wrapped has at least.
_MIN_WIDTH = 16
_GAP = 2
# By which tabulate makes a column wider than its heading.
_PADDING = 2


def describe_experiments(
    experiments: Sequence[Experiment], reference: str, champion: str | None, width: int | None
) -> str:
    """One table for each test set or sample of it: scores on two of them can't be ranked together.

    Args:
        experiments: the best first.
        reference: the name of the one whose params the others are told by.
        champion: DVC's digest of the translator that is served.
        width: of a line, in characters, to which names and params are wrapped; None sets no limit.
    """
    base = next((one for one in experiments if one.name == reference), experiments[0])

    def scored_on(one: Experiment) -> tuple[bool, str, int]:
        return one.test_set != base.test_set, one.test_set, one.sample or 0

    parts = []
    tables = [list(group) for _, group in groupby(sorted(experiments, key=scored_on), scored_on)]
    for members in tables:
        first = members[0]
        if len(tables) > 1 or first.sample is not None:
            sample = f"{first.sample} sentences of the " if first.sample is not None else ""
            corpus = first.params.get("corpus.name", "")
            parts.append(f"scored on {sample}test set {first.test_set[:7]} of {corpus}")
        parts.append(_tabulate(members, base, champion, width))
    if any(one.translator == champion for one in experiments if one.translator is not None):
        parts.append(f"{_MARK} the champion")
    return "\n\n".join(parts)


def _tabulate(
    experiments: Sequence[Experiment], base: Experiment, champion: str | None, width: int | None
) -> str:
    figures = {key: name for key, name in _FIGURES.items() if _is_known(experiments, key)}
    has_baselines = len({one.baseline for one in experiments if one.baseline}) > 1
    heading = ["name", "BLEU", *figures.values(), "beam", f"differs from {base.name}"]
    rows = []
    for one in experiments:
        mark = f" {_MARK}" if champion is not None and one.translator == champion else ""
        cells = [
            f"{one.name}{mark}",
            f"{one.figures['bleu']:.2f} ± {one.figures['bleu_margin']:.2f}",
        ]
        cells += [f"{one.figures[key]:.2f}" if key in one.figures else "-" for key in figures]
        cells += [str(one.params.get(_BEAM_SIZE, "-")), _tell_difference(one, base)]
        rows.append(cells)
    if has_baselines:
        heading.insert(-1, "from")
        for one, cells in zip(experiments, rows, strict=True):
            cells.insert(-1, one.baseline[:7])
    widths = _fit([heading, *rows], width)
    align = ["left", *["right"] * (2 + len(figures)), *["left"] * (1 + has_baselines)]
    table = tabulate(
        rows,
        heading,
        tablefmt="plain",
        disable_numparse=True,
        colalign=align,
        maxcolwidths=widths,
    )
    return "\n".join(line.rstrip() for line in table.split("\n"))


def _is_known(experiments: Sequence[Experiment], figure: str) -> bool:
    return any(figure in one.figures for one in experiments)


def _tell_difference(one: Experiment, base: Experiment) -> str:
    known, told = (
        {key: value for key, value in side.params.items() if key != _BEAM_SIZE}
        for side in (base, one)
    )
    return ", ".join(f"{key} {value}" for key, value in list_differences(known, told).items())


def _fit(rows: Sequence[Sequence[str]], width: int | None) -> list[int | None]:
    # The first column and the last share what the others leave; the shorter takes no more than it
    # needs.
    needed = [
        max(len(heading) + _PADDING, *map(len, cells))
        for heading, *cells in zip(*rows, strict=True)
    ]
    widths: list[int | None] = [None] * len(needed)
    if width is None or sum(needed) + _GAP * (len(needed) - 1) <= width:
        return widths
    room = width - sum(needed[1:-1]) - _GAP * (len(needed) - 1)
    first = min(needed[0], max(room // 2, room - needed[-1], _MIN_WIDTH))
    widths[0], widths[-1] = first, max(room - first, _MIN_WIDTH)
    return widths
