"""What `export` tells MLflow of the translator."""

import math
from collections.abc import Mapping
from typing import Any

from pipeline.flattening import flatten
from pipeline.params import read_params
from pipeline.paths import REPORTS, TRANSLATOR
from pipeline.tracking.evaluation import open_present_evaluation
from pipeline.tracking.registry import register_translator, summarize_translator
from pipeline.tracking.runs import join_run
from pipeline.tracking.tracker import Tracker
from transformer.files import read_json
from transformer.serving.card import load_card
from transformer.text.heldout import mark_sample

# What MLflow shows on the run's own page.
_NOTE = "mlflow.note.content"
# The figures that MLflow shows, by their names in export.json, which has all.
_FIGURES = {"onnx_bleu": "float32_bleu", "int8_bleu": "int8_bleu", "float16_bleu": "float16_bleu"}


def track_export(model_hash: str) -> None:
    """Tells the model's run what the stage has just written, and registers the translator."""
    with join_run(model_hash) as tracker:
        describe_translator(tracker)


def describe_translator(model: Tracker) -> str | None:
    """Figures, card and translator, in the child run of the evaluation with the same settings.

    Args:
        model: the model's run.

    Returns:
        The version that the registry has of the translator; None if it has none.
    """
    values = read_json(REPORTS / "export.json")
    run = open_present_evaluation(model)
    page = (TRANSLATOR / "README.md").read_text(encoding="utf-8")
    note = f"{summarize_translator(load_card(TRANSLATOR))}\n\n{page}"
    flat = flatten({"export": read_params()["export"]})
    settings = {key: str(value) for key, value in flat.items()}
    run.tags({"signature.export_bleu": values["bleu_signature"], _NOTE: note} | settings)
    names = ("export.json", "differences.json", "parity.png")
    run.files("export", [TRANSLATOR / "README.md", *(REPORTS / name for name in names)])
    rounded = {ours: round(values[name], 2) for name, ours in _FIGURES.items() if name in values}
    scores = mark_sample(rounded, values.get("sampled_from"))
    version = register_translator(run, scores)
    run.metrics(scores | _retract(run.read(), scores))
    return version


def _retract(run: Any, scores: Mapping[str, float]) -> dict[str, float]:
    # Of a precision that an earlier export had and this one has not; MLflow can't delete a figure.
    known = run.data.metrics if run is not None else {}
    return {
        name: math.nan
        for name in _FIGURES.values()
        if name not in scores and not math.isnan(known.get(name, math.nan))
    }
