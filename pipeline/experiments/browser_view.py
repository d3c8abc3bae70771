"""What MLflow's pages show at first: runs ranked by BLEU, beside the params that differ.

MLflow has no setting for the columns of its list of runs; its button "share view" keeps them in a
tag of the experiment, and a link with the tag's key brings them back. The same tag is written here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.schema import SECTIONS

_KEY = "ranked"
_VIEW = f"mlflow.sharedViewState.{_KEY}"
_DESCRIPTION = "mlflow.note.content"
_METRICS = ("test.bleu", "test.bleu_low", "test.bleu_high", "test.chrf")
# More columns than these would be out of sight.
_MAX_PARAMS = 6
# Of columns, in pixels.
_NAME_WIDTH, _METRIC_WIDTH, _PARAM_WIDTH = 320, 120, 150
_NAME_COLUMN = "attributes.`Run Name`"
# Whole models, without the runs inside them that hold other decoding settings.
_FILTER = "metrics.`train.num_parameters` > 0"
# A regular expression: the charts that tell runs apart.
_CHARTS = "^(train_loss|valid_loss|perplexity|accuracy|learning_rate|test.bleu)$"

_HOW_TO_READ = """\
Models trained on the corpus **{name}**. A run is one trained model; its name is the recipe and \
what differs from it.

- [Ranked by BLEU](#/experiments/{id}/runs?viewStateShareKey={key}), beside the params that differ.
- `test.*` are scores on the test set, `test.bleu_low` to `test.bleu_high` the 95 % interval; tags \
`signature.*` say how they were computed. `export.int8_bleu` is what the small graph scores.
- Two intervals that overlap leave it open which is better: `python -m pipeline compare RUN RUN` \
tells by a paired test, and shows the sentences.
- `train_loss`, `valid_loss`, `perplexity`, `accuracy` are curves over steps. Runs inside a run \
are other decoding settings of the same model.
"""


def set_up_pages(client: Any) -> dict[str, str]:
    """Writes the description and the ranked view of every experiment that has runs.

    Returns:
        For each experiment's name the page to open, from `#` on.
    """
    pages = {}
    for experiment in client.search_experiments():
        runs = client.search_runs([experiment.experiment_id], _FILTER, max_results=1000)
        models = [run.data.params for run in runs]
        if not models:
            continue
        number = experiment.experiment_id
        tags = {
            _VIEW: json.dumps(make_view(varying_params(models))),
            _DESCRIPTION: _HOW_TO_READ.format(name=experiment.name, id=number, key=_KEY),
        }
        for key, value in tags.items():
            if experiment.tags.get(key) != value:
                client.set_experiment_tag(number, key, value)
        pages[experiment.name] = f"#/experiments/{number}/runs?viewStateShareKey={_KEY}"
    return pages


def varying_params(models: Sequence[Mapping[str, str]]) -> list[str]:
    """The params that are not the same in all runs, in the order of the sections of params.yaml."""
    values: dict[str, set[str | None]] = {}
    for key in {key for params in models for key in params}:
        values[key] = {params.get(key) for params in models}
    order = {section: number for number, section in enumerate(SECTIONS)}
    varying = [key for key, found in values.items() if len(found) > 1]
    return sorted(varying, key=lambda key: (order.get(key.split(".", 1)[0], len(order)), key))


def make_view(params: Sequence[str]) -> dict[str, Any]:
    """The state of MLflow's list of runs, as its interface keeps it."""
    widths = {f"metrics.`{name}`": _METRIC_WIDTH for name in _METRICS}
    widths |= {f"params.`{name}`": _PARAM_WIDTH for name in params[:_MAX_PARAMS]}
    return {
        "searchFilter": _FILTER,
        "orderByKey": f"metrics.`{_METRICS[0]}`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": list(widths),
        "columnOrder": [_NAME_COLUMN, *widths],
        "columnWidths": {_NAME_COLUMN: _NAME_WIDTH} | widths,
        "chartsSearchFilter": _CHARTS,
    }
