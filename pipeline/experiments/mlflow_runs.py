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
    parse_sets,
    parse_translations,
    read_figures,
)
from pipeline.tracking.runs import EVALUATION, KIND, MODEL, PARENT

_ID = re.compile(r"[0-9a-f]{32}")
# MLflow keeps params as Python wrote them.
_PYTHON_WORDS = {"None": "null", "True": "true", "False": "false"}


def read_run(name: str) -> Results | None:
    """What an MLflow run holds; None if there is no run of that id or name.

    Args:
        name: an id, the first eight or more digits of one, or a run's name; of an evaluation, or of
            a model that was evaluated with one group of settings.

    Raises:
        ResultsError: several models have this name, or evaluations this model, or there is none.
    """
    client, experiments = _connect()
    run = _find(client, experiments, name)
    if run is None:
        return None
    run = _choose_evaluation(client, name, run)
    model = _find_model(client, run)
    trained = _read_artifact(client, model, "train", "train.json")
    evaluated = _read_artifact(client, run, "evaluate", "evaluate.json")
    translations = _read_artifact(client, run, "evaluate", "translations.csv")
    exported = _read_artifact(client, run, "export", "export.json")
    if evaluated is None or translations is None:
        raise ResultsError(
            f"MLflow run {run.info.run_name} ({run.info.run_id[:8]}): no evaluate/evaluate.json "
            "and evaluate/translations.csv among its artefacts, so it was not evaluated; "
            "`dvc repro evaluate` does that"
        )
    texts = {"train": trained, "evaluate": evaluated, "export": exported}
    reports = {stage: json.loads(text) for stage, text in texts.items() if text is not None}
    return Results(
        name=name,
        origin=f"MLflow run {run.info.run_id[:8]}"
        + ("" if name == run.info.run_name else f" ({run.info.run_name})"),
        params=_read_params(run),
        figures=read_figures(reports),
        bleu_signature=reports["evaluate"]["signatures"]["bleu"],
        translations=parse_translations(name, translations),
        sets=parse_sets(
            name,
            reports["evaluate"],
            lambda file: _read_artifact(client, run, "evaluate/sets", file),
        ),
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
    model = _find_model(client, run)
    histories = {}
    for metric in metrics:
        if history := client.get_metric_history(model.info.run_id, metric):
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
        found = [run for run in runs if run.info.run_name == name]
    # Where several runs share a model, the newest is the one that stages write to.
    models = {run.data.tags.get("model_hash", run.info.run_id): run for run in reversed(found)}
    if len(models) > 1:
        ids = ", ".join(run.info.run_id[:8] for run in models.values())
        raise ResultsError(f"{name}: {len(models)} MLflow runs have this name; give an id: {ids}")
    return next(iter(models.values()), None)


def _choose_evaluation(client: Any, name: str, run: Any) -> Any:
    # Of a model's run its only evaluation; itself where it holds the scores, as runs once did.
    if run.data.tags.get(KIND) != MODEL:
        return run
    query = f"tags.`{PARENT}` = '{run.info.run_id}' and tags.{KIND} = '{EVALUATION}'"
    found = client.search_runs([run.info.experiment_id], query)
    if len(found) > 1:
        names = "; ".join(f"{one.info.run_id[:8]} ({one.info.run_name})" for one in found)
        raise ResultsError(
            f"{name}: this model was evaluated with {len(found)} groups of settings; give the id "
            f"of one: {names}"
        )
    return found[0] if found else run


def _find_model(client: Any, run: Any) -> Any:
    parent = run.data.tags.get(PARENT)
    if parent is None or run.data.tags.get(KIND) == MODEL:  # whose parent is a repeat
        return run
    return client.get_run(parent)


def _read_artifact(client: Any, run: Any, folder: str, file: str) -> str | None:
    from mlflow.exceptions import MlflowException

    try:
        with tempfile.TemporaryDirectory() as temporary:
            path = client.download_artifacts(run.info.run_id, f"{folder}/{file}", temporary)
            return Path(path).read_text(encoding="utf-8")
    except (MlflowException, OSError):
        return None


def _read_params(run: Any) -> dict[str, str]:
    # Of runs of before, whose decoding settings were tags.
    searched: Mapping[str, str] = {
        key: value for key, value in run.data.tags.items() if key.startswith("search.")
    }
    # Of `evaluate` a run has but a part.
    known = {key: v for key, v in run.data.params.items() if not key.startswith("evaluate.")}
    flat = {**searched, **known}
    return {key: _PYTHON_WORDS.get(value, format_param(value)) for key, value in flat.items()}
