"""What MLflow's pages show at first: evaluations ranked by BLEU, beside the params that differ.

MLflow has no setting for the columns of its list of runs; its button "share view" keeps them in a
tag of the experiment, and a link with the tag's key brings them back. The same tag is written here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.schema import SECTIONS
from pipeline.tracking.promotion import CHAMPION, mark_champion
from pipeline.tracking.runs import EVALUATION, KIND, MODEL

_RANKED, _QUICK, _CURVES = "ranked", "quick", "curves"
# What the figures of evaluations on a sample of the test set begin with.
_QUICK_PREFIX = "quick_"
_VIEW = "mlflow.sharedViewState.{}"
_DESCRIPTION = "mlflow.note.content"
# Without it MLflow opens its pages for language models' answers, and the switch from there to these
# loses the view.
_WORKFLOW = "workflowType=machine_learning"
_BEAM_SIZE = "search.beam_size"
# More columns than these would be out of sight.
_MAX_PARAMS = 6
_NAME_COLUMN = "attributes.`Run Name`"
# Columns of the ranking, with their widths in pixels. The first ones are in sight also in a window
# of 1280 beside the panels that MLflow opens at first.
_WIDTHS = {
    _NAME_COLUMN: 280,
    "metrics.`bleu`": 75,
    f"params.`{_BEAM_SIZE}`": 125,
    f"tags.`{CHAMPION}`": 100,
    "metrics.`bleu_low`": 95,
    "metrics.`bleu_high`": 95,
    "metrics.`chrf`": 80,
    "metrics.`int8_bleu`": 95,
}
_PARAM_WIDTH, _PREFIX_WIDTH = 150, 35
# A regular expression: the charts that tell models apart.
_CHARTS = "^(train_loss|valid_loss|perplexity|accuracy|learning_rate|gradient_norm)$"

_HOW_TO_READ = """\
Translators of the corpus **{name}**: [ranked by BLEU]({ranked}){quick}, their [curves]({curves}).

- A run with `tags.kind = 'evaluation'` is one model with one group of decoding settings on one \
test set. Its name begins with its BLEU (PyTorch's); `bleu_low` to `bleu_high` is the 95 % \
interval, `int8_bleu` the small graph's; tags `signature.*` say how they were computed.
- A run with `tags.kind = 'model'` is a training, with its curves; its evaluations are inside it.
- Two intervals that overlap leave it open which is better: `python -m pipeline compare RUN RUN` \
tells by a paired test, and shows the sentences.
"""


def set_up_pages(client: Any) -> dict[str, dict[str, str]]:
    """Writes the description and the two views of every experiment that has runs.

    Returns:
        For each experiment's name the pages to open, each from `#` on: by what it shows.
    """
    mark_champion(client)
    pages = {}
    for experiment in client.search_experiments():
        number = experiment.experiment_id
        runs = client.search_runs([number], _filter(EVALUATION), max_results=1000)
        if not runs and not client.search_runs([number], _filter(MODEL), max_results=1):
            continue
        links = {
            "ranked by BLEU": _link(number, _RANKED),
            "curves": f"{_link(number, _CURVES)}&compareRunsMode=CHART",
        }
        ranked, curves = links.values()
        quick = ""
        if any(f"{_QUICK_PREFIX}bleu" in run.data.metrics for run in runs):
            links["quick ones, ranked"] = _link(number, _QUICK)
            quick = f" ([quick ones]({links['quick ones, ranked']}))"
        varying = varying_params([run.data.params for run in runs])
        text = _HOW_TO_READ.format(name=experiment.name, ranked=ranked, quick=quick, curves=curves)
        tags = {
            _VIEW.format(_RANKED): json.dumps(make_ranking(varying)),
            _VIEW.format(_QUICK): json.dumps(make_ranking(varying, _QUICK_PREFIX)),
            _VIEW.format(_CURVES): json.dumps(make_curves()),
            _DESCRIPTION: text,
        }
        for key, value in tags.items():
            if experiment.tags.get(key) != value:
                client.set_experiment_tag(number, key, value)
        pages[experiment.name] = links
    return pages


def varying_params(models: Sequence[Mapping[str, str]]) -> list[str]:
    """The params that are not the same in all runs, in the order of the sections of params.yaml."""
    values: dict[str, set[str | None]] = {}
    for key in {key for params in models for key in params}:
        values[key] = {params.get(key) for params in models}
    order = {section: number for number, section in enumerate(SECTIONS)}
    varying = [key for key, found in values.items() if len(found) > 1]
    return sorted(varying, key=lambda key: (order.get(key.split(".", 1)[0], len(order)), key))


def make_ranking(params: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """The state of MLflow's list of runs, as its interface keeps it: the best evaluation first.

    Args:
        params: that differ, for columns.
        prefix: of the names of figures; evaluations without such a BLEU are not listed.
    """
    bleu = f"metrics.`{prefix}bleu`"
    others = [name for name in params if name != _BEAM_SIZE][:_MAX_PARAMS]
    widths = {
        name.replace("metrics.`", f"metrics.`{prefix}"): width
        + (_PREFIX_WIDTH if prefix and name.startswith("metrics.") else 0)
        for name, width in _WIDTHS.items()
    } | {f"params.`{name}`": _PARAM_WIDTH for name in others}
    return _list(EVALUATION) | {
        "searchFilter": f"{_filter(EVALUATION)} and {bleu} >= 0",
        "orderByKey": bleu,
        "orderByAsc": False,
        "selectedColumns": [name for name in widths if name != _NAME_COLUMN],
        "columnOrder": list(widths),
        "columnWidths": widths,
    }


def make_curves() -> dict[str, Any]:
    """The same for the models, with the charts that tell trainings apart."""
    return _list(MODEL) | {"chartsSearchFilter": _CHARTS}


def _list(kind: str) -> dict[str, Any]:
    return {
        "searchFilter": _filter(kind),
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
    }


def _filter(kind: str) -> str:
    return f"tags.{KIND} = '{kind}'"


def _link(number: str, view: str) -> str:
    return f"#/experiments/{number}/runs?viewStateShareKey={view}&{_WORKFLOW}"
