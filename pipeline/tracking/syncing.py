"""MLflow brought level with the results in the workspace, however they came there."""

from typing import NamedTuple

from pipeline.paths import CHECKPOINT, REPORTS, TRANSLATOR
from pipeline.tracking.dvc_lock import LOCK, find_differences
from pipeline.tracking.evaluation import describe_evaluation
from pipeline.tracking.export import describe_translator
from pipeline.tracking.runs import join_run
from pipeline.tracking.tracker import Tracker
from pipeline.tracking.training_files import describe_training
from transformer.files import sha256_file
from transformer.model.checkpoint import model_hash

# The tag of an evaluation whose results are those of a `dvc.lock`: its SHA-256.
DVC_LOCK = "dvc_lock"


class Synced(NamedTuple):
    """What MLflow has now."""

    run_name: str
    run_id: str
    version: str | None  # of the translator in the registry
    lock: str | None  # the SHA-256 of the `dvc.lock` that all results are level with
    left_out: dict[str, str]  # by stage: why its results were not logged


def sync_workspace() -> Synced:
    """Logs what the run of `models/checkpoint` lacks; again, it changes nothing.

    Only results that are those of `dvc.lock` are logged, so no figure goes to the wrong model.

    Raises:
        ValueError: there is no trained model, it is not that of `dvc.lock`, or MLflow can't be
            written to.
    """
    digest = model_hash(CHECKPOINT)
    left_out = find_differences()
    if "train" in left_out:
        raise ValueError(
            f"{left_out['train']}; bring both together first: `dvc repro` runs what is missing. "
            "Or restore what belongs to that dvc.lock: params and small reports are kept by git "
            "(`git checkout COMMIT -- dvc.lock params.yaml reports`), all else by DVC "
            "(`dvc checkout`; `dvc pull` from another machine)"
        )
    version = lock = evaluation = None
    with join_run(digest) as tracker:
        describe_training(tracker)
        if "evaluate" not in left_out and _exists(left_out, "evaluate"):
            evaluation = describe_evaluation(tracker)
        if "export" not in left_out and _exists(left_out, "export"):
            version = describe_translator(tracker)
        if not left_out and evaluation is not None and LOCK.exists():
            lock = sha256_file(LOCK)
            evaluation.tags({DVC_LOCK: lock})
    return Synced(_end(tracker, evaluation), tracker.run_id, version, lock, left_out)


def _exists(left_out: dict[str, str], stage: str) -> bool:
    # Without dvc.lock only the files can tell; with it, a stage that never ran is not in it.
    path = {"evaluate": REPORTS / "evaluate.json", "export": TRANSLATOR / "translator.json"}[stage]
    if not path.exists():
        left_out[stage] = f"{path} is missing"
    return path.exists()


def _end(tracker: Tracker, evaluation: Tracker | None) -> str:
    # A run that lost its tracker half-way is still open.
    run = tracker.read()
    if run is not None and run.info.status != "FINISHED":
        tracker.finish()
    has_failed = tracker.has_failed or (evaluation is not None and evaluation.has_failed)
    if run is None or has_failed:
        raise ValueError("MLflow is not level: see the warning; run `sync` again when it answers")
    return str(run.info.run_name)
