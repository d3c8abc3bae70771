"""Corpus scores of translations, by sacreBLEU.

Scores and their intervals are those of its `PairedTest`. The interval of a difference is resampled
here, from the counts that it publishes: its test gives a p-value and each system's own interval,
but by how much one system is better, and how surely, is what a gate or a promotion asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest

# sacreBLEU's TER splits words at spaces; these tokenisations belong to scripts that have none.
SPACELESS = ("zh", "char")

# Of the differences: sacreBLEU's own default.
SEED = 12345


@dataclass(frozen=True)
class Score:
    """One corpus score, with the 95 % bootstrap interval and the signature that reproduces it."""

    value: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class ScoreInterval:
    """A mean over sentences, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoreDifference:
    """A corpus score minus another's on the same test set, with the 95 % interval."""

    value: float
    low: float
    high: float
    # Two-sided, of no difference: 0.05 or less where 0 lies outside the interval.
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether 0 lies outside the interval."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class CorpusScores:
    """BLEU and chrF++: higher is better. TER, in percent of reference words: lower is better."""

    bleu: Score
    bleu_lowercase: Score
    chrf: Score
    ter: Score


@dataclass(frozen=True)
class LengthGroup:
    """BLEU of the sentences whose source has `low` to `high` tokens; no `high` means no limit."""

    low: int
    high: int | None
    num_sentences: int
    bleu: float

    @property
    def label(self) -> str:
        """Such as `6–10`, or `31+` for the last group."""
        return f"{self.low}+" if self.high is None else f"{self.low}–{self.high}"


def score_corpus(
    hypotheses: Sequence[str], references: Sequence[str], *, bleu_tokenizer: str, num_bootstrap: int
) -> CorpusScores:
    """Scores detokenised translations against one reference each, with their case.

    BLEU after Papineni et al. 2002, chrF++ after Popović 2017 (words up to order 2), TER after
    Snover et al. 2006 (sacreBLEU's default ignores case). The interval is sacreBLEU's: the mean
    of the resamples plus or minus half the width of their central 95 % (Koehn 2004), seeded as
    `SACREBLEU_SEED` says, else with 12345. It holds all of them in memory: for chrF++ 104 bytes a
    sentence and resample.

    Args:
        hypotheses: plain text, one per sentence.
        references: plain text, aligned with `hypotheses`.
        bleu_tokenizer: sacreBLEU's name of a tokenisation.
        num_bootstrap: how many resamples stand behind the intervals.

    Raises:
        ValueError: no sentences, or not one reference per hypothesis.
    """
    _check(hypotheses, references)
    spaceless = bleu_tokenizer in SPACELESS
    metrics: dict[str, Metric] = {
        "bleu": BLEU(tokenize=bleu_tokenizer),
        "bleu_lowercase": BLEU(tokenize=bleu_tokenizer, lowercase=True),
        "chrf": CHRF(word_order=2),
        "ter": TER(normalized=spaceless, asian_support=spaceless),
    }
    return CorpusScores(
        **{
            name: _score(metric, hypotheses, references, num_bootstrap)
            for name, metric in metrics.items()
        }
    )


def score_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, bleu_tokenizer: str
) -> float:
    """Detokenised, cased corpus BLEU alone, the same figure as `score_corpus` gives."""
    _check(hypotheses, references)
    return float(BLEU(tokenize=bleu_tokenizer).corpus_score(hypotheses, [references]).score)


def has_four_words(
    hypotheses: Sequence[str], references: Sequence[str], *, bleu_tokenizer: str
) -> bool:
    """Whether any hypothesis has four words in a row that its reference has; else BLEU is empty.

    Then it is 0, or what smoothing makes of nothing.
    """
    _check(hypotheses, references)
    score: Any = BLEU(tokenize=bleu_tokenizer).corpus_score(hypotheses, [references])
    return bool(score.counts[3])


def compare_bleu(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    *,
    bleu_tokenizer: str,
    num_bootstrap: int,
) -> ScoreDifference:
    """BLEU of `hypotheses` minus BLEU of `others`.

    The interval is of paired resamples (Koehn 2004): each scores both sides on the same sentences,
    so that what is hard or easy for both cancels out. Equal translations differ by exactly 0. p is
    twice the share of resamples on the other side of 0, or at it; 2 / num_bootstrap at least, below
    which they tell nothing.

    Args:
        hypotheses: plain text, one per sentence.
        others: plain text, aligned with `hypotheses`.
        references: plain text, aligned with both.
        bleu_tokenizer: sacreBLEU's name of a tokenisation.
        num_bootstrap: how many resamples stand behind the interval.

    Raises:
        ValueError: no sentences, or lists of different lengths.
    """
    scores = resample_bleu(
        [hypotheses, others], references, bleu_tokenizer=bleu_tokenizer, num_bootstrap=num_bootstrap
    )
    whole, *resampled = (scores[:, 0] - scores[:, 1]).tolist()
    resampled.sort()
    outside = num_bootstrap // 40  # 2.5 % on either side
    beyond = min(sum(one <= 0 for one in resampled), sum(one >= 0 for one in resampled))
    p = min(1.0, 2 * max(beyond, 1) / num_bootstrap)
    return ScoreDifference(whole, resampled[outside], resampled[-1 - outside], p)


def resample_bleu(
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    bleu_tokenizer: str,
    num_bootstrap: int,
) -> NDArray[np.float64]:
    """BLEU of several systems on the test set, and on resamples of it, the same ones for all.

    Args:
        systems: the translations of each, plain text, aligned with `references`.
        references: plain text, one per sentence.
        bleu_tokenizer: sacreBLEU's name of a tokenisation.
        num_bootstrap: how many resamples.

    Returns:
        [1 + num_bootstrap, systems]; the first row is of the test set itself.

    Raises:
        ValueError: no sentences, or lists of different lengths.
    """
    for one in systems:
        _check(one, references)
    metric = BLEU(tokenize=bleu_tokenizer, effective_order=True)  # it asks for that by sentence
    counts = [_count_ngrams(metric, one, references) for one in systems]
    draws = np.random.default_rng(SEED)
    scores = [[_score_ngrams(one) for one in counts]]
    for _ in range(num_bootstrap):
        rows = draws.choice(len(references), len(references))
        scores.append([_score_ngrams(one[rows]) for one in counts])
    return np.array(scores)


def average(values: Sequence[float], num_bootstrap: int) -> ScoreInterval:
    """The mean of a figure of each sentence, with the 95 % interval of resamples.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("nothing to average: there are no sentences")
    figures, draws = np.array(values), np.random.default_rng(SEED)
    size = len(figures)
    means = sorted(float(draws.choice(figures, size).mean()) for _ in range(num_bootstrap))
    outside = num_bootstrap // 40  # 2.5 % on either side
    return ScoreInterval(float(figures.mean()), means[outside], means[-1 - outside])


def score_sentences(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF++ of each sentence, 0 to 100: the usual choice where BLEU is too coarse."""
    _check(hypotheses, references)
    metric = CHRF(word_order=2)
    return [
        float(metric.sentence_score(hypothesis, [reference]).score)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def score_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source_lengths: Sequence[int],
    *,
    length_bins: Sequence[int],
    bleu_tokenizer: str,
) -> list[LengthGroup]:
    """BLEU of groups of sentences of like length, short ones first; empty groups are left out.

    Args:
        hypotheses: plain text, one per sentence.
        references: plain text, aligned with `hypotheses`.
        source_lengths: in tokens without the end token, aligned with `hypotheses`.
        length_bins: rising upper edges, inclusive; one more group takes what is longer.
        bleu_tokenizer: sacreBLEU's name of a tokenisation.

    Raises:
        ValueError: no sentences, or lists of different lengths.
    """
    _check(hypotheses, references)
    rows = list(zip(source_lengths, hypotheses, references, strict=True))
    lows = [0, *(edge + 1 for edge in length_bins)]
    highs = [*length_bins, None]
    groups = []
    for low, high in zip(lows, highs, strict=True):
        chosen = [row for row in rows if row[0] >= low and (high is None or row[0] <= high)]
        if chosen:
            bleu = score_bleu(
                [hypothesis for _, hypothesis, _ in chosen],
                [reference for _, _, reference in chosen],
                bleu_tokenizer=bleu_tokenizer,
            )
            groups.append(LengthGroup(low, high, len(chosen), bleu))
    return groups


def _score(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str], num_bootstrap: int
) -> Score:
    test = PairedTest(
        [("system", hypotheses)],
        {"metric": metric},
        [references],
        test_type="bs",
        n_samples=num_bootstrap,
    )
    signatures, results = test()
    ((name, signature),) = signatures.items()
    (result,) = results[name]
    value, mean, half = float(result.score), float(result.mean), float(result.ci)
    return Score(value, mean - half, mean + half, str(signature))


def _count_ngrams(
    metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]
) -> NDArray[np.int64]:
    # [sentences, 10]: both lengths, then the n-grams that match, then all, for n from 1 to 4.
    scores = [
        metric.sentence_score(hypothesis, [reference])
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return np.array([[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in scores])


def _score_ngrams(counts: NDArray[np.int64]) -> float:
    sys_len, ref_len, *ngrams = counts.sum(0).tolist()
    score = BLEU.compute_bleu(ngrams[:4], ngrams[4:], sys_len, ref_len, smooth_method="exp")
    return float(score.score)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses stand against {len(references)} references; "
            "give one reference for each hypothesis"
        )
    if not hypotheses:
        raise ValueError("nothing to score: there are no sentences")
