"""Scores of further test sets, as tables and for people."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from transformer.evaluation.config import EvaluateConfig
from transformer.evaluation.quality import average_quality, name_quality
from transformer.evaluation.scores import score_corpus, score_sentences
from transformer.evaluation.sets import count_changed, fingerprint
from transformer.evaluation.tables import flatten_scores, write_translations
from transformer.evaluation.translated_test import TranslatedTest
from transformer.files import atomic_folder, write_csv
from transformer.text.heldout import Heldout

# Of a set, the figures that are shown with their intervals.
SCORES = ("bleu", "chrf", "ter")
SCORES_TABLE = "scores.csv"


def score_set(
    texts: Heldout, translations: Sequence[str], config: EvaluateConfig
) -> dict[str, Any]:
    """What the reports hold of a set: scores with intervals and signatures, whose and how many."""
    scores = score_corpus(
        translations,
        texts.references,
        bleu_tokenizer=config.bleu_tokenizer,
        num_bootstrap=config.num_bootstrap,
    )
    return flatten_scores(scores) | {
        "num_sentences": len(translations),
        "sampled_from": texts.sampled_from,
        "sha256": fingerprint(texts),
    }


def write_sets(
    folder: Path,
    sets: Mapping[str, TranslatedTest],
    test: Heldout,
    config: EvaluateConfig,
    estimates: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """Writes each set's translations, and a table of all scores; what was in `folder` goes.

    Args:
        folder: gets `NAME.csv` for each, and `scores.csv`.
        sets: translated, by name.
        test: the test part, which sets of noise were made from.
        config: how they are scored.
        estimates: of quality, by set.

    Returns:
        The figures of each set by name.
    """
    values: dict[str, Any] = {}
    with atomic_folder(folder) as temporary:
        for name, one in sets.items():
            translations, texts = one.translations, one.texts
            quality, _ = average_quality(config, estimates.get(name))
            values[name] = score_set(texts, translations, config) | quality
            if config.sets[name].kind == "noise":
                values[name]["num_changed"] = count_changed(texts, test)
            write_translations(
                temporary / f"{name}.csv",
                sources=texts.sources,
                references=texts.references,
                translations=translations,
                scores=one.scores,
                sentence_chrf=score_sentences(translations, texts.references),
                quality=name_quality(config, estimates.get(name)),
            )
        write_scores(temporary / SCORES_TABLE, values)
    return values


def write_scores(path: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes a row of figures for each set; a header alone where there is none."""
    numbers = {name: _list_numbers(one) for name, one in values.items()}
    columns = list(dict.fromkeys(key for one in numbers.values() for key in one))
    columns = columns or [*SCORES, "num_sentences"]
    rows = ([name, *(one.get(column, "") for column in columns)] for name, one in numbers.items())
    write_csv(path, ["set", *columns], rows)


def describe_sets(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A table of the sets' figures for people, line by line; none of none."""
    if not values:
        return []
    quality = next((one["quality"] for one in values.values() if "quality" in one), None)
    rows = [["", "sentences", "BLEU", "chrF++", "TER", *filter(None, [quality])]]
    for name, one in values.items():
        size = str(one["num_sentences"])
        if "num_changed" in one:
            size += f" ({one['num_changed']} changed)"
        figures = [f"{one[score]:.2f} [{one[f'{score}_low']:.2f}, {one[f'{score}_high']:.2f}]"
                   for score in SCORES]  # fmt: skip
        rows.append([name, size, *figures, *([f"{one[quality]:.4f}"] if quality else [])])
    return str(tabulate(rows, tablefmt="plain", disable_numparse=True)).splitlines()


def list_set_figures(values: Mapping[str, Any]) -> dict[str, float]:
    """Out of evaluate.json, the few figures of each set, such as `typos.bleu`."""
    return dict(_list_figures(values.get("sets", {})))


def _list_figures(sets: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for name, one in sets.items():
        for score in SCORES:
            yield f"{name}.{score}", round(one[score], 2)
        if (quality := one.get("quality")) is not None:
            yield f"{name}.{quality}", one[quality]


def _list_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: one for name, one in values.items() if isinstance(one, int | float)}
