"""Versions of the registry, by the names that MLflow gives them."""

import re
from pathlib import Path
from typing import Any

from pipeline.paths import TRANSLATOR
from pipeline.tracking.backend import prepare_database, require_client
from pipeline.tracking.model_package import global_tracking_uri

SCHEME = "models:"
_VERSION = re.compile(rf"{SCHEME}/([^/@]+)(?:/(\d+)|@(\w+))")


def find_version(name: str) -> Any:
    """The version that `models:/NAME/VERSION` or `models:/NAME@ALIAS` names.

    Raises:
        ValueError: the name has another form, or the registry no such version.
    """
    from mlflow.exceptions import MlflowException

    match = _VERSION.fullmatch(name)
    if match is None:
        raise ValueError(f"{name}: expected models:/NAME/VERSION or models:/NAME@ALIAS")
    model, number, alias = match.groups()
    client = require_client()
    try:
        if number is None:
            return client.get_model_version_by_alias(model, alias)
        return client.get_model_version(model, number)
    except MlflowException as error:
        raise ValueError(f"{name}: the registry has no such version: {error}") from error


def fetch_translator(name: str, number: str, folder: Path) -> Path:
    """Copies the translator of a model's version below `folder`, and returns where it is."""
    from mlflow.artifacts import download_artifacts

    uri = f"models:/{name}/{number}/artifacts/{TRANSLATOR.name}"
    with global_tracking_uri(prepare_database()[0]):
        return Path(download_artifacts(artifact_uri=uri, dst_path=str(folder)))
