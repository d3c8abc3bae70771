"""What becomes of a case: one attempt, held against what comes of undamaged input."""

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.robustness.child import Ended

OUTCOMES = ("clear errors", "accepted", "tracebacks", "crashes", "hangs", "silent changes")
GOOD = OUTCOMES[:2]


class Result(NamedTuple):
    """What was tried, what came of it, and what was said if that is nothing good."""

    what: str
    outcome: str
    told: str = ""


def judge(
    what: str,
    ended: Ended,
    expected: Mapping[str, str] | None = None,
    found: Mapping[str, str] | None = None,
) -> Result:
    """The outcome of a process; outputs that differ without a warning are a silent change.

    Args:
        what: was tried.
        ended: how the process ended.
        expected: hashes of the outputs of undamaged input; None: any will do.
        found: hashes of the outputs.
    """
    outcome = ended.outcome
    if outcome == "accepted" and expected != found and "warning: " not in ended.errors:
        differing = {
            name
            for name in {*(expected or ()), *(found or ())}
            if (expected or {}).get(name) != (found or {}).get(name)
        }
        return Result(what, "silent changes", f"other outputs: {', '.join(sorted(differing))}")
    if outcome in GOOD:
        return Result(what, outcome)
    return Result(what, outcome, f"status {ended.status}: {ended.errors[-3000:]}")
