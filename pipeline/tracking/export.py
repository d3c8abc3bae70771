"""What `export` tells MLflow of the translator."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.flattening import flatten
from pipeline.params import read_params
from pipeline.paths import REPORTS, TRANSLATOR
from pipeline.tracking.backend import backend_lock
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.evaluation import list_datasets, open_present_evaluation
from pipeline.tracking.model_package import NAME
from pipeline.tracking.registry import (
    DVC_DIGEST,
    TRANSLATOR_HASH,
    describe_graph,
    is_quick,
    register_translator,
    summarize_translator,
    translator_hash,
)
from pipeline.tracking.runs import join_run
from pipeline.tracking.tracker import DatasetInput, Tracker
from transformer.files import read_json
from transformer.serving.card import Precision, load_card
from transformer.text.heldout import mark_sample

# What MLflow shows on the run's own page.
_NOTE = "mlflow.note.content"
# Of each precision the figure that MLflow shows, by its name in export.json, which has all.
_BLEU: dict[str, Precision] = {
    "onnx_bleu": "float32",
    "int8_bleu": "int8",
    "float16_bleu": "float16",
}


class _Figure(NamedTuple):
    """BLEU of one precision on one test set."""

    precision: Precision
    dataset: str  # a name of `list_datasets`
    value: float

    @property
    def name(self) -> str:
        """As the run has it, such as `typos.int8_bleu`."""
        return f"{self.dataset}.{self.precision}_bleu".removeprefix(".")


def track_export(model_hash: str) -> None:
    """Tells the model's run what the stage has just written, and registers the translator."""
    with join_run(model_hash) as tracker:
        describe_translator(tracker)


def describe_translator(model: Tracker) -> str | None:
    """Figures, card and translator, in the child run of the evaluation with the same settings.

    Args:
        model: the model's run.

    Returns:
        The version that the registry has of the translator; None if it has none.
    """
    values = read_json(REPORTS / "export.json")
    run = open_present_evaluation(model)
    page = (TRANSLATOR / "README.md").read_text(encoding="utf-8")
    note = f"{summarize_translator(load_card(TRANSLATOR))}\n\n{page}"
    flat = flatten({"export": read_params()["export"]})
    settings = {key: str(value) for key, value in flat.items()}
    run.tags({"signature.export_bleu": values["bleu_signature"], _NOTE: note} | settings)
    names = ("export.json", "differences.json", "parity.png")
    run.files("export", [TRANSLATOR / "README.md", *(REPORTS / name for name in names)])
    figures = list(_list_figures(values))
    scores = mark_sample({one.name: one.value for one in figures}, values.get("sampled_from"))
    version = register_translator(run, scores)
    _log_models(run, figures, list_datasets(values.get("sets", {})), settings)
    run.metrics(scores | _retract(run.read(), scores))
    return version


def _list_figures(values: Mapping[str, Any]) -> Iterator[_Figure]:
    for dataset, one in {"": values, **values.get("sets", {})}.items():
        for name, precision in _BLEU.items():
            if name in one:
                yield _Figure(precision, dataset, round(one[name], 2))


def _retract(run: Any, scores: Mapping[str, float]) -> dict[str, float]:
    # Of a precision that an earlier export had and this one has not; MLflow can't delete a figure.
    known = run.data.metrics if run is not None else {}
    return {
        name: math.nan
        for name in (f"{precision}_bleu" for precision in _BLEU.values())
        if name not in scores and not math.isnan(known.get(name, math.nan))
    }


def _log_models(
    run: Tracker,
    figures: Sequence[_Figure],
    datasets: Mapping[str, DatasetInput],
    settings: Mapping[str, str],
) -> None:
    # Each precision as a model of MLflow's, with its figures beside the data that they are of.
    present = run.read()
    if present is None or "" not in datasets or is_quick():
        return
    run.inputs(datasets.values())
    card, digest, now = load_card(TRANSLATOR), translator_hash(), int(time.time() * 1000)
    with run.guard() as client, backend_lock():
        if run.has_failed:
            return
        from mlflow.entities import Metric

        query = f"source_run_id = '{run.run_id}' and tags.`{TRANSLATOR_HASH}` = '{digest}'"
        found = client.search_logged_models([present.info.experiment_id], query)
        models = {model.tags["precision"]: model for model in found}
        for precision in card.graphs:
            if precision not in models:
                tags = describe_graph(card, precision) | {TRANSLATOR_HASH: digest}
                models[precision] = _make_model(client, present, precision, tags, settings)
        metrics = []
        for one in figures:
            model, data = models.get(one.precision), datasets[one.dataset]
            if model is None:  # it did not pass, and is not in the folder
                continue
            known = {(old.key, old.dataset_digest, old.value) for old in model.metrics or ()}
            if (one.name, data.digest, one.value) not in known:
                place = {"dataset_name": data.name, "dataset_digest": data.digest}
                metrics.append(Metric(one.name, one.value, now, 0, model.model_id, **place))
        if metrics:
            client.log_batch(run.run_id, metrics=metrics)


def _make_model(
    client: Any, run: Any, precision: str, tags: Mapping[str, str], settings: Mapping[str, str]
) -> Any:
    from mlflow.entities import LoggedModelOutput
    from mlflow.utils.mlflow_tags import MLFLOW_MODEL_IS_EXTERNAL

    model = client.create_logged_model(
        run.info.experiment_id,
        name=f"{NAME}-{precision}",
        source_run_id=run.info.run_id,
        # Its files are those of the registered version, which has all precisions.
        tags={**tags, DVC_DIGEST: dvc_digest(TRANSLATOR), MLFLOW_MODEL_IS_EXTERNAL: "true"},
        params=run.data.params | settings,
    )
    client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, step=0)])
    return client.finalize_logged_model(model.model_id, "READY")
