"""A forecast of stages for people, and for programs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tabulate import tabulate

from pipeline.experiments.forecast import Forecast, StageStatus
from pipeline.experiments.results import format_param

_table = partial(tabulate, tablefmt="plain", disable_numparse=True)
_MEANING = {
    StageStatus.RUNS: "runs",
    StageStatus.MAY_RUN: "may run",
    StageStatus.RESTORED: "from cache",
}


def describe_forecasts(
    params: Mapping[str, tuple[Any, Any]],
    forecasts: Sequence[Forecast],
    without: Sequence[Forecast],
) -> str:
    """What changes in the params, then a line for each stage.

    Args:
        params: old and new value of each param that differs.
        forecasts: with the change.
        without: for the params as they are.
    """
    changes = [
        [key, f"{format_param(old)} -> {format_param(new)}"] for key, (old, new) in params.items()
    ]
    as_they_are = {one.stage: one.status for one in without}
    width = max(len(one.stage) for one in forecasts)
    rows = [
        [_MEANING[one.status], f"{one.stage:<{width}}  {_explain(one, as_they_are)}"]
        for one in forecasts
        if one.status is not StageStatus.UNCHANGED
    ]
    unchanged = [one.stage for one in forecasts if one.status is StageStatus.UNCHANGED]
    if unchanged:
        rows.append(["unchanged", ", ".join(unchanged)])
    told = _table(changes) if changes else "these are the values that params.yaml has"
    return f"{told}\n\n{_table(rows)}"


def list_forecasts(
    params: Mapping[str, tuple[Any, Any]],
    forecasts: Sequence[Forecast],
    without: Sequence[Forecast],
) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    as_they_are = {one.stage: one.status for one in without}
    return {
        "params": {key: {"old": old, "new": new} for key, (old, new) in params.items()},
        "stages": [
            {
                "stage": one.stage,
                "status": one.status.value,
                "reasons": list(one.reasons),
                "without_the_change": as_they_are[one.stage].value,
            }
            for one in forecasts
        ],
    }


def _explain(one: Forecast, as_they_are: Mapping[str, StageStatus]) -> str:
    words = ", ".join(one.reasons)
    if one.status is StageStatus.MAY_RUN:
        *others, last = one.reasons
        words = f"if {', '.join(others)} or {last} changes" if others else f"if {last} changes"
    if one.status is StageStatus.RESTORED:
        words += "; ran before on the same inputs"
    is_due = one.status is not StageStatus.UNCHANGED and as_they_are.get(one.stage) is one.status
    return f"{words} (also without the change)" if is_due else words
