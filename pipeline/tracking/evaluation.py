"""What `evaluate` tells MLflow of the test set's translations."""

import csv
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.flattening import flatten
from pipeline.params import read_params
from pipeline.paths import MANIFEST, RAW, REPORTS
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.run_names import put_score
from pipeline.tracking.runs import join_run, open_evaluation
from pipeline.tracking.tables import log_table
from pipeline.tracking.tracker import DatasetInput, Tracker
from pipeline.tracking.training_files import draw_curves
from transformer.evaluation.sets_report import list_set_figures
from transformer.files import read_json
from transformer.text.corpus import part_path
from transformer.text.heldout import describe_size, mark_sample
from transformer.text.manifest import read_manifest

TRANSLATIONS = REPORTS / "translations.csv"
# Settings of `evaluate` that no score of the test set depends on.
_ASIDE = ("device", "batch_tokens", "length_bins", "num_attention_plots", "sets", "quality")
# The figures that MLflow shows, with their decimals; evaluate.json among the artefacts has all.
_FIGURES = {
    "bleu": 2,
    "bleu_low": 2,
    "bleu_high": 2,
    "bleu_greedy": 2,
    "chrf": 2,
    "ter": 2,
    "exact_match_share": 3,
}
# Characters of a digest in MLflow.
_MAX_DIGEST = 32
# Of a sentence in the name of its picture, in characters.
_MAX_SENTENCE = 60


def track_evaluation(model_hash: str) -> None:
    """Tells the model's run what the stage has just written."""
    with join_run(model_hash) as tracker:
        draw_curves(tracker)
        describe_evaluation(tracker)


def open_present_evaluation(model: Tracker) -> Tracker:
    """The model's child run for the settings in `params.yaml`, and the test set that is here."""
    sha256 = read_manifest(RAW).sha256.get("test") if MANIFEST.exists() else None
    return open_evaluation(model, _settings(read_params()), sha256)


def describe_evaluation(model: Tracker) -> Tracker:
    """Scores with their signatures, translations, pictures; returns the child run that has them.

    Args:
        model: the model's run.
    """
    values = read_json(REPORTS / "evaluate.json")
    run = open_present_evaluation(model)
    sampled_from = values.get("sampled_from")
    scores = {name: round(values[name], n) for name, n in _FIGURES.items() if name in values}
    run.metrics(mark_sample(scores | list_set_figures(values), sampled_from))
    run.tags(
        {"tested_on": describe_size(values["num_sentences"], sampled_from)}
        | {f"signature.{name}": text for name, text in values["signatures"].items()}
    )
    present = run.read()
    if present is not None:
        run.rename(put_score(present.info.run_name, values["bleu"]))
    run.inputs(list_datasets(values.get("sets", {})).values())
    names = ["evaluate.json", "bleu_by_length.csv", "bleu_by_length.png", "translations.csv"]
    names += ["sets"] if values.get("sets") else []
    run.files("evaluate", [REPORTS / name for name in names])
    rows: list[dict[str, Any]] = []
    if TRANSLATIONS.exists():
        with TRANSLATIONS.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        log_table(run, "evaluate", "translations", rows)
    _log_attention(run, rows)
    return run


def list_datasets(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, DatasetInput]:
    """What was translated, by name: the test set, whose name is empty, if it is here, then others.

    Args:
        sets: further ones, each with its `sha256`, as evaluate.json and export.json have them.
    """
    manifest = read_manifest(RAW) if MANIFEST.exists() else None
    path = part_path(RAW, "test")
    found = {}
    if manifest is not None and path.exists():
        name, digest = f"{manifest.name} test", dvc_digest(path)
        found[""] = DatasetInput(name, "test", digest, manifest.origin)
    corpus = "" if manifest is None else manifest.name
    for name, one in sets.items():
        digest = one["sha256"][:_MAX_DIGEST]
        found[name] = DatasetInput(f"{corpus} {name}".strip(), "test", digest, name)
    return found


def _settings(params: Mapping[str, Any]) -> dict[str, Any]:
    scoring = {name: value for name, value in params["evaluate"].items() if name not in _ASIDE}
    return flatten({"search": params["search"], "evaluate": scoring})


def _log_attention(tracker: Tracker, rows: list[dict[str, Any]]) -> None:
    # The stage names a picture by the sentence's row; a list of pictures is read by its words.
    with tempfile.TemporaryDirectory() as folder:
        for picture in sorted((REPORTS / "attention").glob("*.png")):
            row = int(picture.stem)
            sentence = rows[row]["source"] if row < len(rows) else ""
            words = " ".join(re.findall(r"\w+", sentence))[:_MAX_SENTENCE]
            name = "-".join([picture.stem, *words.split()])
            shutil.copyfile(picture, Path(folder) / f"{name}.png")
        tracker.files("attention", sorted(Path(folder).iterdir()))
