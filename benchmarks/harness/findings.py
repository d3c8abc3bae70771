"""What a run of contenders in rounds found."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar

from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.report import Verdict, write_page, write_record
from benchmarks.harness.rounds import C, Measurement, Speeds, Variant, measure_rounds
from benchmarks.harness.workers import Worker


@dataclass
class Findings(ABC):
    """All that a run found; what was not measured has no entry."""

    title: ClassVar[str]
    command: ClassVar[str]
    # Of the contenders, for the table.
    names: ClassVar[Mapping[str, str]]
    # What the numbers of a cell are.
    cell_columns: ClassVar[tuple[str, ...]] = ()

    variants: list[Variant]
    measurements: list[Measurement] = field(default_factory=list, kw_only=True)
    versions: dict[str, str] = field(default_factory=dict, kw_only=True)
    # Why a contender, or one of its variants, is missing.
    reasons: dict[str, str] = field(default_factory=dict, kw_only=True)
    # Paragraphs about model, data, machine, rules.
    notes: list[str] = field(default_factory=list, kw_only=True)

    @property
    def speeds(self) -> Speeds:
        """Medians of the measurements."""
        return Speeds(self.measurements)

    def peak_bytes(self, variant: Variant) -> int | None:
        """The most memory that its process used until its last measurement."""
        mine = [one.figures for one in self.measurements if one.variant == variant]
        return max((int(figures["peak_bytes"]) for figures in mine), default=None)

    def start(self, variant: Variant, command: Callable[[], Sequence[str]]) -> Worker | None:
        """Starts a worker; None where its contender can't be had, which leaves a reason."""
        who = variant.contender
        if who in self.reasons:
            return None
        try:
            worker = Worker(command(), variant.environment)
        except UnavailableError as error:
            self.reasons[who] = str(error)
            return None
        self.versions[who] = worker.greeting["version"]
        return worker

    def measure(
        self,
        variants: Sequence[Variant],
        cells: Sequence[C],
        num_rounds: int,
        ask: Callable[[Variant, C], dict[str, Any] | None],
        report: Callable[[str], None],
    ) -> None:
        """Measures in rounds; arguments as `measure_rounds` takes them."""
        self.measurements, failed = measure_rounds(variants, cells, num_rounds, ask, report)
        for variant, reason in failed.items():
            self.reasons[variant.contender] = f"{variant.setting} threads: {reason}"

    @abstractmethod
    def table(self) -> str:
        """The figures, in Markdown."""

    @abstractmethod
    def verdicts(self) -> list[Verdict]:
        """The targets, held against what was found."""

    @abstractmethod
    def more(self) -> dict[str, Any]:
        """What is recorded besides measurements, for JSON."""

    def others_note(self) -> list[str]:
        """What other processes took meanwhile."""
        others = sorted(one.others_share for one in self.measurements)
        if not others:
            return []
        return [
            f"Other processes took {median(others):.1%} of the cores during the median "
            f"measurement, {others[len(others) * 9 // 10]:.1%} at the ninth decile, "
            f"{others[-1]:.1%} at most."
        ]

    def page(self) -> str:
        """The whole page."""
        parts = [*self.notes, self.table()]
        if self.reasons:
            missing = [f"- {self.names.get(who, who)}: {why}" for who, why in self.reasons.items()]
            parts.append("Not measured:\n\n" + "\n".join(missing))
        return write_page(self.title, self.command, parts, self.verdicts())

    def record(self) -> str:
        """Everything as JSON, one measurement a line."""
        figures = list(self.measurements[0].figures) if self.measurements else []
        rows = []
        for one in self.measurements:
            values = one.others_share, *(one.figures[name] for name in figures)
            rounded = (round(value, 6) for value in values)
            rows.append([label(one.variant), *one.cell, one.round_index, *rounded])
        peaks = {label(one): self.peak_bytes(one) for one in self.variants}
        columns = ["variant", *self.cell_columns, "round", "others_share", *figures]
        recorded = {
            "notes": self.notes,
            "versions": self.versions,
            "peak_bytes": {name: peak for name, peak in peaks.items() if peak is not None},
            **self.more(),
            "reasons": self.reasons,
            "targets": [[one.text, one.found, one.target, one.word] for one in self.verdicts()],
            "measurement_columns": columns,
        }
        return write_record(recorded, "measurements", rows)


def label(variant: Variant) -> str:
    """A variant's name in records."""
    return f"{variant.contender}, {variant.setting} threads"
