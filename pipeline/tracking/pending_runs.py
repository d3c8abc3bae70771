"""Runs of trainings that are not through, or of models that MLflow could not be told of."""

from contextlib import suppress
from pathlib import Path

from pipeline.repository import main_checkout
from transformer.files import read_json, write_json

# Beside the states of trainings, so that it outlives an experiment's copy.
_FOLDER = Path(".state/mlflow")
_RUN_ID = "run_id"


def write_run_id(path: Path, run_id: str) -> None:
    """Writes down which run is meant."""
    write_json(path, {_RUN_ID: run_id})


def read_run_id(path: Path) -> str | None:
    """The run that was written down; None if there is none, or the file is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(read_json(path)[_RUN_ID])
    return None


def keep_pending_run(model_hash: str, run_id: str) -> None:
    """Keeps the run that a model was trained in, for whoever reaches MLflow next."""
    write_run_id(_path(model_hash), run_id)


def take_pending_run(model_hash: str) -> str | None:
    """The run that was kept for this model, once; None if there is none."""
    run_id = read_run_id(_path(model_hash))
    _path(model_hash).unlink(missing_ok=True)
    return run_id


def _path(model_hash: str) -> Path:
    return main_checkout() / _FOLDER / f"{model_hash}.json"
