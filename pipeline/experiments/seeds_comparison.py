"""Two experiments of several seeds each: the difference of their means, and whether by chance."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.experiments.comparison import (
    ParamDifference,
    check_comparable,
    list_param_differences,
)
from pipeline.experiments.repeats import SEED, Spread
from pipeline.experiments.results import Results
from transformer.evaluation.scores import ScoreDifference, resample_bleu

# What the verdict rests on, as it is told.
TEST = "Welch's t over seeds, with the test set's variance by paired bootstrap"


@dataclass(frozen=True)
class SeedsComparison:
    """B held against A; each side has at least one result, and one side more."""

    a: Sequence[Results]
    b: Sequence[Results]
    params: Sequence[ParamDifference]
    bleu_a: Spread
    bleu_b: Spread
    # Mean BLEU of B minus A's, with its 95 % interval.
    bleu: ScoreDifference

    @property
    def is_significant(self) -> bool:
        """Whether 0 lies outside the interval of the difference."""
        return self.bleu.low > 0 or self.bleu.high < 0


def compare_seeds(a: Sequence[Results], b: Sequence[Results]) -> SeedsComparison:
    """Holds the means of B's seeds against A's.

    Training's chance and the test set's are independent: the variance of the difference is that of
    each side's mean over its seeds (Welch), plus that of the difference of means over resamples of
    the test set, the same for all (Koehn 2004). Of one seed nothing is known of training's chance,
    so that side adds none.

    Raises:
        ResultsError: they were scored on different test sets, or with different tokenisations.
    """
    from scipy import stats  # takes a second

    everyone = [*a, *b]
    for other in everyone[1:]:
        check_comparable(everyone[0], other)
    scores = resample_bleu(
        [[one.text for one in results.translations] for results in everyone],
        [one.reference for one in everyone[0].translations],
        bleu_tokenizer=everyone[0].bleu_tokenizer,
        num_bootstrap=max(one.num_bootstrap for one in everyone),
    )
    sides = scores[:, : len(a)], scores[:, len(a) :]
    differences = sides[1].mean(1) - sides[0].mean(1)
    # Variances of means, each with its degrees of freedom.
    parts = [(float(differences[1:].var(ddof=1)), len(everyone[0].translations) - 1)]
    parts += [
        (float(side[0].var(ddof=1)) / side.shape[1], side.shape[1] - 1)
        for side in sides
        if side.shape[1] > 1
    ]
    variance = sum(part for part, _ in parts)
    half = 0.0
    if variance:
        freedom = variance**2 / sum(part**2 / n for part, n in parts)
        half = float(stats.t.ppf(0.975, freedom)) * variance**0.5
    value = float(differences[0])
    bleu_a, bleu_b = (Spread.of(side[0].tolist()) for side in sides)
    return SeedsComparison(
        a,
        b,
        [one for one in list_param_differences(a[0], b[0]) if one.name != SEED],
        bleu_a,
        bleu_b,
        ScoreDifference(value, value - half, value + half),
    )
