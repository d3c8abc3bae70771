"""What `export` tells MLflow of the translator."""

from pipeline.flattening import numbers
from pipeline.paths import REPORTS, TRANSLATOR
from pipeline.tracking.registry import register_translator
from pipeline.tracking.runs import join_run
from pipeline.tracking.tracker import Tracker
from transformer.files import read_json
from transformer.text.heldout import mark_sample

# What MLflow shows on the run's own page.
_NOTE = "mlflow.note.content"


def track_export(model_hash: str) -> None:
    """Tells the model's run what the stage has just written, and registers the translator."""
    with join_run(model_hash) as tracker:
        describe_translator(tracker)


def describe_translator(tracker: Tracker) -> str | None:
    """Figures, card and translator; returns the version that the registry has of it."""
    values = read_json(REPORTS / "export.json")
    scores = mark_sample(numbers(values, "export"), values.get("sampled_from"))
    card = (TRANSLATOR / "README.md").read_text(encoding="utf-8")
    tracker.tags({"signature.export_bleu": values["bleu_signature"], _NOTE: card})
    names = ("export.json", "differences.json", "parity.png")
    tracker.files("export", [TRANSLATOR / "README.md", *(REPORTS / name for name in names)])
    version = register_translator(tracker, scores)
    tracker.metrics(scores)  # those that stand on the version's page are in the run already
    return version
