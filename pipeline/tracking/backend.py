"""Where runs are kept, and how long MLflow may take to answer."""

import logging
import os
from pathlib import Path
from typing import Any

from pipeline.repository import main_checkout
from transformer.files import atomic_write
from transformer.urls import hide_secrets

# Seconds within which a server must answer at all, before anything is sent to it.
_REACH_SECONDS = 5
# MLflow's own figures would hold a stage up for a quarter of an hour when a server goes away.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
_CHATTY = ("alembic", "mlflow.store.db.utils", "mlflow.tracking._model_registry.client")


class UnreachableError(Exception):
    """The tracking server does not answer."""


def prepare_database() -> tuple[str, str | None]:
    """The tracking URI and, for the project's own database, its artefact folder as a URI.

    `MLFLOW_TRACKING_URI` names another place. The own database is made at first use, under a
    lock: two queue workers on a fresh clone would otherwise migrate it at once, and one would die.
    """
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri, None
    folder = main_checkout() / "mlruns"
    folder.mkdir(exist_ok=True)
    database = folder / "mlflow.db"
    if not database.exists():
        with backend_lock():
            if not database.exists():
                _create_database(database)
    return f"sqlite:///{database}", (folder / "artifacts").as_uri()


def has_database() -> bool:
    """Whether a place of runs was named, or the project's own was made."""
    return "MLFLOW_TRACKING_URI" in os.environ or (main_checkout() / "mlruns/mlflow.db").exists()


def backend_lock() -> Any:
    """A lock between the processes of this checkout, its experiments' copies included."""
    from filelock import FileLock

    folder = main_checkout() / "mlruns"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / "mlflow.lock")


def open_client() -> tuple[Any, str | None]:
    """An MLflow client, and the artefact folder's URI if the place is the project's own.

    Raises:
        UnreachableError: the server that `MLFLOW_TRACKING_URI` names does not answer.
        Exception: whatever MLflow raises; ModuleNotFoundError where it is not installed.
    """
    quieten_mlflow()
    # An id that was exported once would be the run of every experiment in the queue.
    os.environ.pop("MLFLOW_RUN_ID", None)
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    uri, artifacts = prepare_database()
    _reach(uri)
    return MlflowClient(uri), artifacts


def require_client() -> Any:
    """An MLflow client for a command that is nothing without it.

    Raises:
        ValueError: the tracking server does not answer, or MLflow, or the driver of the database
            that `MLFLOW_TRACKING_URI` names, is not installed.
    """
    try:
        return open_client()[0]
    except Exception as error:  # MLflow, its database and the network raise anything
        message = f"MLflow can't be reached ({type(error).__name__}: {first_line(error)})"
        if isinstance(error, ModuleNotFoundError) and "MLFLOW_TRACKING_URI" in os.environ:
            message += (
                "; a URI of another driver may do, such as postgresql+psycopg2://, which "
                "`make EXTRAS=train,dev,team setup` installs"
            )
        raise ValueError(message) from error


def first_line(error: Exception) -> str:
    """What an error of MLflow's or a database's says first, without secrets."""
    return hide_secrets((str(error).strip() or "no reason given").splitlines()[0])


def open_experiment(client: Any, artifacts: str | None, name: str) -> str:
    """The id of the MLflow experiment `name`, which is made if there is none."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        location = None if artifacts is None else f"{artifacts}/{name}"
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException as error:
            # Another clone was quicker; a lock would hold back this machine's processes alone.
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            found = client.get_experiment_by_name(name)
    return str(found.experiment_id)


def quieten_mlflow() -> None:
    """No telemetry, and no lines and bars of MLflow's between a stage's own."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def _create_database(path: Path) -> None:
    # Under another name first: a creation that is killed leaves no half-migrated database.
    from mlflow.tracking import MlflowClient

    with atomic_write(path) as temporary:
        MlflowClient(f"sqlite:///{temporary}").search_experiments()


def _reach(uri: str) -> None:
    if not uri.startswith(("http://", "https://")):
        return
    import requests

    try:
        requests.get(f"{uri.rstrip('/')}/health", timeout=_REACH_SECONDS)
    except requests.RequestException as error:
        raise UnreachableError(hide_secrets(f"{uri!r} does not answer: {error}")) from None
