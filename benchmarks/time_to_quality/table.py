"""Time to quality, as Markdown and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from benchmarks.decoding.findings import markdown_table, verdict_table
from benchmarks.decoding.targets import Verdict

MAX_MINUTES = 5.0


class Score(NamedTuple):
    """One checkpoint."""

    step: int
    seconds: float  # of training alone
    bleu: float


@dataclass
class QualityRun:
    """One training, with its scores in order."""

    recipe: str
    loop: str
    model: str  # its shape, in words
    settings: str  # likewise
    target: float
    tokens_per_second: float = 0.0
    scores: list[Score] = field(default_factory=list)

    @property
    def reached(self) -> Score | None:
        """The first score at the target or above."""
        return next((one for one in self.scores if one.bleu >= self.target), None)

    def summary(self) -> str:
        """One line."""
        best = max((one.bleu for one in self.scores), default=0.0)
        if self.reached is None:
            return f"{self.target:g} BLEU not reached; the best was {best:.2f}"
        return f"{self.reached.bleu:.2f} BLEU after {self.reached.seconds / 60:.2f} minutes"


def write_report(runs: Sequence[QualityRun], bleu: float, notes: Sequence[str]) -> str:
    """The whole page."""
    rows = [
        [
            run.recipe,
            run.loop,
            run.model,
            run.settings,
            "–" if run.reached is None else f"{run.reached.seconds / 60:.2f}",
            "–" if run.reached is None else str(run.reached.step),
            f"{max((one.bleu for one in run.scores), default=0.0):.2f}",
            f"{run.tokens_per_second:,.0f}",
        ]
        for run in runs
    ]
    header = ["recipe", "loop", "model", "training", f"minutes to {bleu:g} BLEU", "steps"]
    header += ["best BLEU seen", "tokens/s"]
    parts = [
        "# Time to quality",
        "Written by `python -m benchmarks.time_to_quality`; [benchmarks.md](../benchmarks.md) "
        "tells what is measured and how.",
        *notes,
        markdown_table(header, rows, num_text_columns=4),
        "## Targets",
        verdict_table([judge(runs)]),
    ]
    return "\n\n".join(parts) + "\n"


def judge(runs: Sequence[QualityRun]) -> Verdict:
    """Whether our trainer is fast enough with any recipe."""
    ours = [run.reached.seconds / 60 for run in runs if run.loop.startswith("ours") and run.reached]
    found, is_met = "–", None
    if any(run.loop.startswith("ours") for run in runs):
        found, is_met = "not reached", False
    if ours:
        found, is_met = f"{min(ours):.2f}", min(ours) <= MAX_MINUTES
    return Verdict("minutes to the score, ours", found, f"at most {MAX_MINUTES:g}", is_met)


def as_json(runs: Sequence[QualityRun], notes: Sequence[str]) -> str:
    """Every score."""
    return json.dumps({"notes": notes, "runs": [asdict(run) for run in runs]}, indent=1) + "\n"
