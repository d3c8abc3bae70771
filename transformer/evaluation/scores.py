"""Corpus scores of translations, by sacreBLEU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

# sacreBLEU's TER splits words at spaces; these tokenisations belong to scripts that have none.
SPACELESS = ("zh", "char")

# sacreBLEU's own default; the signatures name it.
SEED = 12345


@dataclass(frozen=True)
class Score:
    """One corpus score, with the 95 % bootstrap interval and the signature that reproduces it."""

    value: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class ScoreDifference:
    """A corpus score minus another's on the same test set, with the 95 % interval."""

    value: float
    low: float
    high: float


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
    of the resamples plus or minus half the width of their central 95 % (Koehn 2004).

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
    so that what is hard or easy for both cancels out. Equal translations differ by exactly 0.

    Args:
        hypotheses: plain text, one per sentence.
        others: plain text, aligned with `hypotheses`.
        references: plain text, aligned with both.
        bleu_tokenizer: sacreBLEU's name of a tokenisation.
        num_bootstrap: how many resamples stand behind the interval.

    Raises:
        ValueError: no sentences, or lists of different lengths.
    """
    _check(hypotheses, references)
    _check(others, references)
    metric = BLEU(tokenize=bleu_tokenizer)
    sides = [_count(metric, side, references) for side in (hypotheses, others)]
    whole = [float(metric.corpus_score(side, [references]).score) for side in (hypotheses, others)]
    resampled = sorted(
        _score_counts(metric, sides[0][rows]) - _score_counts(metric, sides[1][rows])
        for rows in _draws(len(references), num_bootstrap)
    )
    outside = num_bootstrap // 40  # 2.5 % on either side
    return ScoreDifference(whole[0] - whole[1], resampled[outside], resampled[-1 - outside])


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
        source_lengths: in tokens without the end mark, aligned with `hypotheses`.
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
    value = float(metric.corpus_score(hypotheses, [references]).score)
    # The resampling is sacreBLEU's, draw by draw, but one resample at a time: its own holds all
    # of them in memory, and stumbles over a resample of empty references.
    counts = _count(metric, hypotheses, references)
    resampled = sorted(
        _score_counts(metric, counts[rows]) for rows in _draws(len(counts), num_bootstrap)
    )
    metric.n_bootstrap, metric.seed = num_bootstrap, str(SEED)  # for the signature
    outside = num_bootstrap // 40  # 2.5 % on either side
    mean, half = fmean(resampled), (resampled[-1 - outside] - resampled[outside]) / 2
    return Score(value, mean - half, mean + half, str(metric.get_signature()))


def _count(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str]
) -> NDArray[np.float64]:
    # A row for each sentence of what the score is made of, such as matching n-grams.
    return np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)


def _score_counts(metric: Metric, counts: NDArray[np.float64]) -> float:
    return float(metric._compute_score_from_stats(counts.sum(0)).score)


def _draws(num_rows: int, num_bootstrap: int) -> Iterator[NDArray[np.int64]]:
    draws = np.random.default_rng(SEED)
    for _ in range(num_bootstrap):
        yield draws.choice(num_rows, num_rows)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses stand against {len(references)} references; "
            "give one reference for each hypothesis"
        )
    if not hypotheses:
        raise ValueError("nothing to score: there are no sentences")
