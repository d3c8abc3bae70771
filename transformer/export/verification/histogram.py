"""How many sentences' scores move by how much, in bins of a logarithmic scale."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from transformer.export.config import Precision
from transformer.export.verification.gate import Verdict
from transformer.files import write_csv

# Of log10. The outer bins take what lies beyond, equal scores too.
LOWEST, HIGHEST, BINS_PER_DECADE = -8, 0, 4


def write_histogram(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Writes a row per bin: log10 of its lower edge, and how many sentences each precision has.

    A precision that was not exported has none, so the columns are always the same.
    """
    counts = {v.parity.precision: count_bins(v.parity.score_differences) for v in verdicts}
    columns: tuple[Precision, ...] = get_args(Precision)
    rows = (
        [edge, *(counts[name][index] if name in counts else 0 for name in columns)]
        for index, edge in enumerate(bin_edges()[:-1])
    )
    write_csv(path, ["log10_score_difference", *columns], rows)


def bin_edges() -> list[float]:
    """log10 of the bins' edges, rising."""
    num_bins = (HIGHEST - LOWEST) * BINS_PER_DECADE
    return [LOWEST + index / BINS_PER_DECADE for index in range(num_bins + 1)]


def count_bins(differences: Sequence[float]) -> list[int]:
    """How many differences, 0 or more each, fall into each bin."""
    counts = [0] * (len(bin_edges()) - 1)
    for difference in differences:
        place = (math.log10(max(difference, 10.0**LOWEST)) - LOWEST) * BINS_PER_DECADE
        counts[min(int(place), len(counts) - 1)] += 1
    return counts
