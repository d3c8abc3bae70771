"""What the stages up to `train` left on disk, told to a run."""

import csv
import json
import tempfile
from pathlib import Path

from pipeline.flattening import numbers
from pipeline.paths import CLEAN, IDS, MANIFEST, PRETRAINED, RAW, REPORTS
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.run_names import model_params, name_run
from pipeline.tracking.tables import log_table
from pipeline.tracking.tracker import DatasetInput, Tracker
from transformer.files import read_json, read_sealed
from transformer.text.manifest import Manifest, read_manifest
from transformer.text.synthetic import read_share

TRAIN_CURVE, VALID_CURVE = REPORTS / "train_curve.csv", REPORTS / "valid_curve.csv"
_PRETRAINING = PRETRAINED / "manifest.json"
_REJECTS = CLEAN / "rejects.jsonl"
_DATA_REPORTS = (
    *("synthesize.json", "clean.json", "clean.html", "clean_reasons.csv"),
    *("vocab.json", "tokenize.json"),
)


def corpus_name() -> str:
    """The name of MLflow's experiment: the corpus's, or `training` for ids without a corpus."""
    return read_manifest(RAW).name if MANIFEST.exists() else "training"


def describe_data(tracker: Tracker) -> None:
    """The corpus with its checksums, the ids that training reads, the weights it begins with."""
    inputs = []
    origin = str(IDS)
    if MANIFEST.exists():
        manifest = read_manifest(RAW)
        origin = manifest.origin
        tracker.tags(_corpus_tags(manifest))
        inputs.append(DatasetInput(manifest.name, "corpus", dvc_digest(RAW), origin))
    if (CLEAN / MANIFEST.name).exists() and (share := read_share(CLEAN)) is not None:
        tracker.tags({f"synthetic.{name}": str(value) for name, value in share})
    if IDS.exists():
        inputs.append(DatasetInput(f"{corpus_name()} ids", "training", dvc_digest(IDS), origin))
    tracker.inputs(inputs)
    tracker.files("data", [REPORTS / name for name in _DATA_REPORTS])
    if _REJECTS.exists():
        rows = [json.loads(line) for line in _REJECTS.read_text(encoding="utf-8").split("\n")[:-1]]
        log_table(tracker, "data", "rejects", rows)
    if "pretrain" in model_params() and _PRETRAINING.exists():
        _describe_pretraining(tracker)


def describe_training(tracker: Tracker) -> None:
    """The data, and all that training left."""
    describe_data(tracker)
    describe_outcome(tracker)
    draw_curves(tracker)


def draw_curves(tracker: Tracker) -> None:
    """A picture of the curves. Left to the stages after `train`, which load what draws anyway."""
    texts = [
        path.read_text(encoding="utf-8") for path in (TRAIN_CURVE, VALID_CURVE) if path.exists()
    ]
    if tracker.has_failed or not texts:
        return
    from pipeline.experiments.curves import Training, draw_trainings, parse_curves

    curves = {key: curve for text in texts for key, curve in parse_curves(text).items()}
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "curves.png"
        draw_trainings([Training(name_run(), curves)], picture)
        tracker.files("curves", [picture])


def describe_outcome(tracker: Tracker) -> None:
    """Curves where the run lacks steps, and the final figures."""
    for path, metric in ((TRAIN_CURVE, "train_loss"), (VALID_CURVE, "valid_loss")):
        if path.exists():
            _complete_curve(tracker, path, metric)
    report = REPORTS / "train.json"
    if report.exists():
        tracker.files("train", [report])
        tracker.tags({"num_parameters": str(read_json(report)["num_parameters"])})


def _describe_pretraining(tracker: Tracker) -> None:
    manifest = read_sealed(_PRETRAINING, "pretrain")
    try:
        # An imported model has no summary.
        kind, figures = str(manifest["kind"]), numbers(manifest.get("summary", {}), "pretrain")
    except (KeyError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{_PRETRAINING} is damaged ({error!r}); run the stage `pretrain` again"
        ) from error
    tracker.tags({"pretraining": kind})
    tracker.files("pretraining", [_PRETRAINING])
    tracker.metrics(figures)


def _complete_curve(tracker: Tracker, path: Path, metric: str) -> None:
    known = tracker.steps(metric)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            if step not in known:
                tracker.log({name: float(value) for name, value in row.items()}, step)
    tracker.flush()


def _corpus_tags(manifest: Manifest) -> dict[str, str]:
    tags = {
        "corpus": manifest.name,
        "corpus.origin": manifest.origin,
        "corpus.revision": manifest.revision or "",
        "corpus.license": manifest.license,
    }
    return tags | {f"corpus.sha256.{part}": digest for part, digest in manifest.sha256.items()}
