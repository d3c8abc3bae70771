"""The tables of an evaluation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.evaluation.scores import CorpusScores, LengthGroup
from transformer.files import write_csv

# More digits than anyone reads, fewer than differ between two runs that ought to be equal.
DECIMALS = 4


def flatten_scores(scores: CorpusScores) -> dict[str, Any]:
    """Each score with its interval under flat names such as `bleu_low`, then all signatures."""
    values: dict[str, Any] = {}
    for name, score in asdict(scores).items():
        values[name] = round(score["value"], DECIMALS)
        values[f"{name}_low"] = round(score["low"], DECIMALS)
        values[f"{name}_high"] = round(score["high"], DECIMALS)
    values["signatures"] = {name: score["signature"] for name, score in asdict(scores).items()}
    return values


def describe_scores(scores: CorpusScores) -> str:
    """The scores as lines for people, each with its interval and signature."""
    labels = {"bleu": "BLEU", "bleu_lowercase": "BLEU lower-cased", "chrf": "chrF++", "ter": "TER"}
    width = max(map(len, labels.values()))
    return "\n".join(
        f"{labels[name]:<{width}} {score['value']:6.2f}  95 % in "
        f"[{score['low']:.2f}, {score['high']:.2f}]  {score['signature']}"
        for name, score in asdict(scores).items()
    )


def write_translations(
    path: Path,
    *,
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    scores: Sequence[float],
    sentence_chrf: Sequence[float],
    quality: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Writes the translations side by side, a row per sentence in the order given.

    `quality` is a last column by its name.
    """
    columns = [sources, references, translations, map(_round, scores), map(_round, sentence_chrf)]
    names = ["source", "reference", "translation", "score", "chrf"]
    for name, values in (quality or {}).items():
        columns.append(map(_round, values))
        names.append(name)
    write_csv(path, names, zip(*columns, strict=True))


def write_length_groups(path: Path, groups: Iterable[LengthGroup]) -> None:
    """Writes BLEU by source length; the last group's upper edge is left blank."""
    names = ["min_source_tokens", "max_source_tokens", "num_sentences", "bleu"]
    rows = ((group.low, group.high, group.num_sentences, _round(group.bleu)) for group in groups)
    write_csv(path, names, rows)


def write_attention(
    path: Path, maps: Iterable[tuple[int, Sequence[str], Sequence[str], Sequence[Sequence[float]]]]
) -> None:
    """Writes attention weights, a row per weight.

    Args:
        path: the CSV file.
        maps: per sentence its row in the test set, source tokens, target tokens, and weights,
            a row per target token.
    """
    names = ["sentence", "target_position", "target", "source_position", "source", "weight"]
    rows = (
        (sentence, row, target, column, source, _round(weight))
        for sentence, sources, targets, weights in maps
        for row, target in enumerate(targets)
        for column, (source, weight) in enumerate(zip(sources, weights[row], strict=True))
    )
    write_csv(path, names, rows)


def _round(value: float) -> float:
    return round(value, DECIMALS)
