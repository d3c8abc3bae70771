"""Results of an MLflow run: the only file here that knows how runs are laid out."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.experiments.results import (
    Results,
    ResultsError,
    format_param,
    parse_translations,
    read_figures,
)

_FOLDER = "evaluate"
_PARENT = "mlflow.parentRunId"
_ID = re.compile(r"[0-9a-f]{32}")
# MLflow keeps params as Python wrote them.
_PYTHON_WORDS = {"None": "null", "True": "true", "False": "false"}


def read_run(name: str) -> Results | None:
    """What an MLflow run holds; None if there is no run of that id or name.

    Args:
        name: an id, the first eight or more digits of one, or a run's name.

    Raises:
        ResultsError: several models have this name, or the run lacks an evaluation.
    """
    client, experiments = _connect()
    run = _find(client, experiments, name)
    if run is None:
        return None
    if parent := run.data.tags.get(_PARENT):
        raise ResultsError(
            f"{name}: this MLflow run holds the scores of one decoding setting; its model's run, "
            f"which has the translations, is {parent}"
        )
    report = json.loads(_read_artifact(client, run, "evaluate.json"))
    reports = {stage: _read_metrics(run, stage) for stage in ("train", "export")}
    return Results(
        name=name,
        origin=f"MLflow run {run.info.run_id[:8]}"
        + ("" if name == run.info.run_name else f" ({run.info.run_name})"),
        params=_read_params(run),
        figures=read_figures(reports | {"evaluate": report}),
        bleu_signature=report["signatures"]["bleu"],
        translations=parse_translations(name, _read_artifact(client, run, "translations.csv")),
    )


def read_histories(
    name: str, metrics: Sequence[str]
) -> dict[str, tuple[list[int], list[float]]] | None:
    """Steps and values of those metrics that a run has; None if there is no such run.

    Raises:
        ResultsError: several models have this name.
    """
    client, experiments = _connect()
    run = _find(client, experiments, name)
    if run is None:
        return None
    histories = {}
    for metric in metrics:
        if history := client.get_metric_history(run.info.run_id, metric):
            points = sorted({one.step: one.value for one in history}.items())
            histories[metric] = ([step for step, _ in points], [value for _, value in points])
    return histories


def _connect() -> tuple[Any, list[str]]:
    from pipeline.tracking.backend import require_client

    client = require_client()
    return client, [found.experiment_id for found in client.search_experiments()]


def _find(client: Any, experiments: list[str], name: str) -> Any:
    if _ID.fullmatch(name):
        from mlflow.exceptions import MlflowException

        try:
            return client.get_run(name)
        except MlflowException:
            return None
    runs = client.search_runs(experiments, max_results=1000, order_by=["start_time DESC"])
    if re.fullmatch(r"[0-9a-f]{8,31}", name):
        found = [run for run in runs if run.info.run_id.startswith(name)]
    else:
        found = [run for run in runs if run.info.run_name == name and _PARENT not in run.data.tags]
    # Where several runs share a model, the newest is the one that stages write to.
    models = {run.data.tags.get("model_hash", run.info.run_id): run for run in reversed(found)}
    if len(models) > 1:
        ids = ", ".join(run.info.run_id[:8] for run in models.values())
        raise ResultsError(f"{name}: {len(models)} MLflow runs have this name; give an id: {ids}")
    return next(iter(models.values()), None)


def _read_artifact(client: Any, run: Any, file: str) -> str:
    from mlflow.exceptions import MlflowException

    try:
        with tempfile.TemporaryDirectory() as folder:
            path = client.download_artifacts(run.info.run_id, f"{_FOLDER}/{file}", folder)
            return Path(path).read_text(encoding="utf-8")
    except (MlflowException, OSError):
        raise ResultsError(
            f"MLflow run {run.info.run_name} ({run.info.run_id[:8]}): no {_FOLDER}/{file} among "
            "its artefacts, so it was not evaluated; `dvc repro evaluate` does that"
        ) from None


def _read_params(run: Any) -> dict[str, str]:
    searched: Mapping[str, str] = {
        key: value for key, value in run.data.tags.items() if key.startswith("search.")
    }
    flat = {**run.data.params, **searched}
    return {key: _PYTHON_WORDS.get(value, format_param(value)) for key, value in flat.items()}


def _read_metrics(run: Any, stage: str) -> dict[str, float]:
    # As the stage's report has them: metrics are named `STAGE.FIGURE`.
    prefix = f"{stage}."
    named = run.data.metrics.items()
    return {key.removeprefix(prefix): value for key, value in named if key.startswith(prefix)}
