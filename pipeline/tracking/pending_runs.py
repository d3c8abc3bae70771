"""Which run belongs to a model that MLflow could not be told of."""

from contextlib import suppress
from pathlib import Path

from pipeline.repository import main_checkout
from transformer.files import read_json, write_json

# Beside the states of trainings, so that it outlives an experiment's copy.
_FOLDER = Path(".state/mlflow")
_RUN_ID = "run_id"


def keep_pending_run(model_hash: str, run_id: str) -> None:
    """Keeps the run that a model was trained in, for whoever reaches MLflow next."""
    write_json(_path(model_hash), {_RUN_ID: run_id})


def take_pending_run(model_hash: str) -> str | None:
    """The run that was kept for this model, once; None if there is none."""
    path = _path(model_hash)
    with suppress(OSError, ValueError, KeyError, TypeError):  # none, or damaged
        run_id = str(read_json(path)[_RUN_ID])
        path.unlink()
        return run_id
    return None


def _path(model_hash: str) -> Path:
    return main_checkout() / _FOLDER / f"{model_hash}.json"
