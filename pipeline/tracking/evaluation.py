"""What `evaluate` tells MLflow of the test set's translations."""

import csv

from pipeline.flattening import numbers
from pipeline.params import read_params
from pipeline.paths import MANIFEST, RAW, REPORTS
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.runs import join_run, open_child
from pipeline.tracking.tables import log_table
from pipeline.tracking.tracker import DatasetInput, Tracker
from pipeline.tracking.training_files import draw_curves
from transformer.files import read_json
from transformer.text.corpus import part_path
from transformer.text.heldout import describe_size, mark_sample
from transformer.text.manifest import read_manifest

TRANSLATIONS = REPORTS / "translations.csv"
# Settings of `evaluate` that scores depend on.
_SCORING = ("bleu_tokenizer", "num_bootstrap", "num_sentences")


def track_evaluation(model_hash: str) -> None:
    """Tells the model's run what the stage has just written."""
    with join_run(model_hash) as tracker:
        draw_curves(tracker)
        describe_evaluation(tracker)


def describe_evaluation(tracker: Tracker) -> None:
    """Scores with their signatures, translations and pictures; the settings as a child run."""
    params = read_params()
    values = read_json(REPORTS / "evaluate.json")
    scores = numbers(values, "test")
    # MLflow's page that compares runs sorts by name: the score that counts stands near its top.
    scores = mark_sample({"bleu": scores["test.bleu"]} | scores, values.get("sampled_from"))
    tracker.metrics(scores)
    tracker.tags(
        # Params of a run can't change, and the stage may run again with another search.
        {"tested_on": describe_size(values["num_sentences"], values.get("sampled_from"))}
        | {f"search.{name}": str(value) for name, value in params["search"].items()}
        | {f"signature.{name}": text for name, text in values["signatures"].items()}
    )
    _log_test_set(tracker)
    names = ("evaluate.json", "bleu_by_length.csv", "bleu_by_length.png", "translations.csv")
    tracker.files("evaluate", [REPORTS / name for name in names])
    tracker.files("attention", sorted((REPORTS / "attention").glob("*.png")))
    if TRANSLATIONS.exists():
        with TRANSLATIONS.open(newline="", encoding="utf-8") as file:
            log_table(tracker, "evaluate", "translations", list(csv.DictReader(file)))
    if not tracker.has_failed:  # else there is nothing that the child would belong to
        _log_settings(tracker, params, scores)


def _log_test_set(tracker: Tracker) -> None:
    path = part_path(RAW, "test")
    if path.exists() and MANIFEST.exists():
        manifest = read_manifest(RAW)
        name, digest = f"{manifest.name} test", dvc_digest(path)
        tracker.inputs([DatasetInput(name, "test", digest, manifest.origin)])


def _log_settings(
    tracker: Tracker, params: dict[str, dict[str, object]], scores: dict[str, float]
) -> None:
    search = params["search"]
    settings = {f"search.{name}": value for name, value in search.items()}
    settings |= {f"evaluate.{name}": params["evaluate"][name] for name in _SCORING}
    name = f"beam_size {search['beam_size']}, length_penalty {search['length_penalty']}"
    open_child(tracker, name, settings).metrics(scores)
