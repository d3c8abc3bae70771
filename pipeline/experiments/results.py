"""What an experiment came to, wherever it was read from."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    figures = {
        name: value
        for name, value in evaluated.items()
        if name.removesuffix("_low").removesuffix("_high") in SCORES or name == "exact_match_share"
    }
    for name, key in (("perplexity", "valid_perplexity"), ("parameters", "num_parameters")):
        if key in trained:
            figures[name] = trained[key]
    return figures | {
        name: value
        for name, value in reports.get("export", {}).items()
        if name in ("int8_bleu", "float16_bleu")
    }
