"""A forecast of stages for people, and for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.experiments.affected_stages import Fate, Forecast
from pipeline.experiments.alignment import align
from pipeline.experiments.results import format_param

_MEANING = {
    Fate.RUNS: "runs",
    Fate.MAY_RUN: "may run",
    Fate.RESTORED: "from cache",
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
    as_they_are = {one.stage: one.fate for one in without}
    lines = align(changes) if changes else ["these are the values that params.yaml has"]
    unchanged = [one.stage for one in forecasts if one.fate is Fate.UNCHANGED]
    rows = [
        [_MEANING[one.fate], one.stage, _explain(one, as_they_are)]
        for one in forecasts
        if one.fate is not Fate.UNCHANGED
    ]
    if unchanged:
        rows.append(["unchanged", ", ".join(unchanged)])
    return "\n".join([*lines, "", *align(rows)])


def list_forecasts(
    params: Mapping[str, tuple[Any, Any]],
    forecasts: Sequence[Forecast],
    without: Sequence[Forecast],
) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    as_they_are = {one.stage: one.fate for one in without}
    return {
        "params": {key: {"old": old, "new": new} for key, (old, new) in params.items()},
        "stages": [
            {
                "stage": one.stage,
                "fate": one.fate.value,
                "reasons": list(one.reasons),
                "without_the_change": as_they_are[one.stage].value,
            }
            for one in forecasts
        ],
    }


def _explain(one: Forecast, as_they_are: Mapping[str, Fate]) -> str:
    words = ", ".join(one.reasons)
    if one.fate is Fate.MAY_RUN:
        *others, last = one.reasons
        words = f"if {', '.join(others)} or {last} changes" if others else f"if {last} changes"
    if one.fate is Fate.RESTORED:
        words += "; ran before on the same inputs"
    is_due = one.fate is not Fate.UNCHANGED and as_they_are.get(one.stage) is one.fate
    return f"{words} (also without the change)" if is_due else words
