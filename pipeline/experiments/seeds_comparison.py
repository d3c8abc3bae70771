"""Two experiments of several seeds each: the difference of their means, and whether by chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.experiments.comparison import (
    ParamDifference,
    check_comparable,
    list_param_differences,
    share_sets,
)
from pipeline.experiments.repeats import SEED, Spread
from pipeline.experiments.results import Results, Translation
from transformer.evaluation.scores import ScoreDifference, resample_bleu

# What the verdict rests on, as it is told.
TEST = "Welch's t over seeds, with the test set's variance by paired bootstrap"


@dataclass(frozen=True)
class SeedsDifference:
    """BLEU of either side's seeds on one test set."""

    bleu_a: Spread
    bleu_b: Spread
    # Mean BLEU of B minus A's, with its 95 % interval.
    bleu: ScoreDifference


@dataclass(frozen=True)
class SeedsComparison(SeedsDifference):
    """B held against A; each side has at least one result, and one side more."""

    a: Sequence[Results]
    b: Sequence[Results]
    params: Sequence[ParamDifference]
    # Further sets that all have, by name; of all others why they are not compared.
    sets: Mapping[str, SeedsDifference]
    sets_left_out: Mapping[str, str]


def compare_seeds(a: Sequence[Results], b: Sequence[Results]) -> SeedsComparison:
    """Holds the means of B's seeds against A's, on the test set and on each further one.

    Training's chance and the test set's are independent: the variance of the difference is that of
    each side's mean over its seeds (Welch), plus that of the difference of means over resamples of
    the test set, the same for all (Koehn 2004). Of one seed nothing is known of training's chance,
    so that side adds none.

    Raises:
        ResultsError: they were scored on different test sets, or with different tokenisations.
    """
    everyone = [*a, *b]
    for other in everyone[1:]:
        check_comparable(everyone[0], other)
    shared, left_out = share_sets(everyone)

    def compare_texts(systems: Sequence[Sequence[Translation]]) -> SeedsDifference:
        scores = resample_bleu(
            [[one.text for one in system] for system in systems],
            [one.reference for one in systems[0]],
            bleu_tokenizer=everyone[0].bleu_tokenizer,
            num_bootstrap=max(one.num_bootstrap for one in everyone),
        )
        sides = scores[:, : len(a)], scores[:, len(a) :]
        return _compare_means(*sides, num_sentences=len(systems[0]))

    return SeedsComparison(
        **vars(compare_texts([one.translations for one in everyone])),
        a=a,
        b=b,
        params=[one for one in list_param_differences(a[0], b[0]) if one.name != SEED],
        sets={
            name: compare_texts([one.translations for one in found])
            for name, found in shared.items()
        },
        sets_left_out=left_out,
    )


def _compare_means(*sides: NDArray[np.float64], num_sentences: int) -> SeedsDifference:
    # Of each side [1 + num_bootstrap, seeds], as `resample_bleu` gives them.
    from scipy import stats  # takes a second

    differences = sides[1].mean(1) - sides[0].mean(1)
    # Variances of means, each with its degrees of freedom.
    parts = [(float(differences[1:].var(ddof=1)), num_sentences - 1)]
    parts += [
        (float(side[0].var(ddof=1)) / side.shape[1], side.shape[1] - 1)
        for side in sides
        if side.shape[1] > 1
    ]
    variance = sum(part for part, _ in parts)
    value = float(differences[0])
    half, p = 0.0, float(value == 0)
    if variance:
        freedom = variance**2 / sum(part**2 / n for part, n in parts)
        half = float(stats.t.ppf(0.975, freedom)) * variance**0.5
        p = 2 * float(stats.t.sf(abs(value) / variance**0.5, freedom))
    bleu_a, bleu_b = (Spread.of(side[0].tolist()) for side in sides)
    return SeedsDifference(bleu_a, bleu_b, ScoreDifference(value, value - half, value + half, p))
