"""What a run of the training benchmark found, as Markdown and as JSON."""

import json
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.decoding.findings import MEBIBYTE, markdown_table, verdict_table
from benchmarks.decoding.targets import Verdict
from benchmarks.training.measuring import TrainingMeasurement, TrainingSpeeds
from benchmarks.training.targets import NAMES, judge


@dataclass
class TrainingFindings:
    """All that a run found; what was not measured has no entry."""

    contenders: list[str]
    device: str
    shape: str
    measurements: list[TrainingMeasurement] = field(default_factory=list)
    start_seconds: dict[str, float] = field(default_factory=dict)  # process start to first step
    peak_bytes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    precisions: dict[str, str] = field(default_factory=dict)  # of the products
    reasons: dict[str, str] = field(default_factory=dict)  # why there is no figure
    notes: list[str] = field(default_factory=list)

    @property
    def speeds(self) -> TrainingSpeeds:
        """The measurements' medians."""
        return TrainingSpeeds(self.measurements)

    def verdicts(self) -> list[Verdict]:
        """A verdict per target."""
        return judge(self.speeds, self.device, self.shape)


def write_report(findings: TrainingFindings) -> str:
    """The whole page."""
    parts = [
        "# Training speed",
        "Written by `python -m benchmarks.training`; [benchmarks.md](../benchmarks.md) tells what "
        "is measured and how.",
        *findings.notes,
        speed_table(findings),
    ]
    parts += [f"{NAMES[who]}: {why}" for who, why in findings.reasons.items()]
    parts += ["## Targets", verdict_table(findings.verdicts())]
    return "\n\n".join(parts) + "\n"


def speed_table(findings: TrainingFindings) -> str:
    """A row per contender, slowest first as they are listed."""
    memory = "peak GPU memory, MiB" if findings.device == "cuda" else "peak memory, MiB"
    header = ["contender", "precision", "tokens/s", "of them target", "over the rounds", "padding"]
    header += ["FLOP utilisation", "peak, GFLOP/s", "first step after, s", memory]
    speeds, rows = findings.speeds, []
    for who in findings.contenders:
        name = " ".join(filter(None, [NAMES[who], findings.versions.get(who, "")]))
        if not speeds.has(who):
            rows.append([name, *["–"] * (len(header) - 1)])
            continue
        mine = [one for one in findings.measurements if one.contender == who]
        by_round = [(one.source_tokens + one.target_tokens) / one.seconds for one in mine]
        rows.append(
            [
                name,
                findings.precisions[who],
                f"{speeds.tokens_per_second(who):,.0f}",
                f"{speeds.tokens_per_second(who, ('target',)):,.0f}",
                f"{min(by_round):,.0f} to {max(by_round):,.0f}",
                f"{speeds.padding_share(who):.1%}",
                f"{speeds.utilization(who):.1%}",
                f"{median(one.peak for one in mine) / 1e9:,.0f}",
                f"{findings.start_seconds[who]:.1f}",
                f"{findings.peak_bytes[who] / MEBIBYTE:,.0f}",
            ]
        )
    return markdown_table(header, rows, num_text_columns=2)


def as_json(findings: TrainingFindings) -> str:
    """Everything, one measurement a line."""
    values: dict[str, Any] = {
        "notes": findings.notes,
        "versions": findings.versions,
        "precisions": findings.precisions,
        "start_seconds": findings.start_seconds,
        "peak_bytes": findings.peak_bytes,
        "reasons": findings.reasons,
        "targets": [[one.text, one.found, one.target, one.word] for one in findings.verdicts()],
        "measurement_columns": list(TrainingMeasurement._fields),
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    rows = ",\n".join(json.dumps(list(one)) for one in findings.measurements)
    lines.append(f'"measurements": [\n{rows}\n]')
    return "{\n" + ",\n".join(lines) + "\n}\n"
