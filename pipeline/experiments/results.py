"""What an experiment came to, wherever it was read from."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Places in a report of the stage `evaluate` that a comparison reads.
SCORES = ("bleu", "chrf", "ter")


class ResultsError(ValueError):
    """Results that can't be read; the message names the experiment and says what to do."""


@dataclass(frozen=True)
class Translation:
    """One sentence of the test set."""

    source: str
    reference: str
    text: str
    # Sentence chrF++, 0 to 100.
    chrf: float


@dataclass(frozen=True)
class SetResults:
    """One further test set, translated and scored."""

    # Of its sources and references as they came.
    sha256: str
    # Scores with their intervals, as in `Results`.
    figures: Mapping[str, float]
    translations: Sequence[Translation]


@dataclass(frozen=True)
class Results:
    """One trained model with its scores on a test set."""

    # As the user called it.
    name: str
    # What that is, such as `experiment 1a2b3c4` or `MLflow run 0123abcd`.
    origin: str
    # Flat, with the names of params.yaml; each value as YAML writes it.
    params: Mapping[str, str]
    # Scores with their intervals (`bleu`, `bleu_low`, `bleu_high`, ...) and other figures.
    figures: Mapping[str, float]
    # sacreBLEU's signature of the BLEU score.
    bleu_signature: str
    translations: Sequence[Translation]
    # Those that `evaluate.sets` named, by name.
    sets: Mapping[str, SetResults] = field(default_factory=dict)
    # What a reader has to know before trusting the figures.
    notes: Sequence[str] = ()

    @property
    def bleu_tokenizer(self) -> str:
        """SacreBLEU's name of the tokenisation that BLEU was computed with."""
        return self._signed("tok", r"[\w.-]+")

    @property
    def num_bootstrap(self) -> int:
        """How many resamples stand behind each interval."""
        return int(self._signed("bs", r"\d+"))

    def _signed(self, key: str, pattern: str) -> str:
        found = re.search(rf"(?:^|\|){key}:({pattern})(?:\||$)", self.bleu_signature)
        if found is None:
            raise ResultsError(
                f"{self.name}: BLEU's signature {self.bleu_signature!r} has no {key}"
            )
        return found[1]


def parse_translations(name: str, text: str) -> list[Translation]:
    """Reads the CSV table of the stage `evaluate`.

    Raises:
        ResultsError: it lacks a column, or a figure is no number; `name` opens the message.
    """
    try:
        return [
            Translation(row["source"], row["reference"], row["translation"], float(row["chrf"]))
            for row in csv.DictReader(io.StringIO(text, newline=""))
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(
            f"{name}: its table of translations can't be read ({error}); `dvc repro evaluate` "
            "writes it again"
        ) from None


def parse_sets(
    name: str, evaluated: Mapping[str, Any], read: Callable[[str], str | None]
) -> dict[str, SetResults]:
    """The further sets of an evaluation.

    Args:
        name: opens the messages.
        evaluated: evaluate.json.
        read: gives a file of `reports/sets` by its name; None: it is not to be had.

    Raises:
        ResultsError: the translations of a set are not to be had, or can't be read.
    """
    sets = {}
    for one, values in evaluated.get("sets", {}).items():
        table = read(f"{one}.csv")
        if table is None:
            raise ResultsError(
                f"{name}: its translations of the set {one} are missing; `dvc repro evaluate` "
                "writes them again"
            )
        sets[one] = SetResults(
            values["sha256"], _read_scores(values), parse_translations(f"{name}: {one}", table)
        )
    return sets


def format_param(value: Any) -> str:
    """A value as YAML writes it: null, true, 0.004, [5, 10], words without quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_param, value))}]"
    return str(value)


def read_figures(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The figures worth comparing, out of the reports of `train`, `evaluate` and `export`.

    A stage whose report is missing adds none.
    """
    evaluated, trained = reports.get("evaluate", {}), reports.get("train", {})
    figures = _read_scores(evaluated)
    if "exact_match_share" in evaluated:
        figures["exact_match_share"] = evaluated["exact_match_share"]
    for name, key in (("perplexity", "valid_perplexity"), ("parameters", "num_parameters")):
        if key in trained:
            figures[name] = trained[key]
    return figures | {
        name: value
        for name, value in reports.get("export", {}).items()
        if name in ("int8_bleu", "float16_bleu")
    }


def _read_scores(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: value
        for name, value in values.items()
        if name.removesuffix("_low").removesuffix("_high") in SCORES
    }
