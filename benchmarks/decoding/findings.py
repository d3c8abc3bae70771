"""What a run found, as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.decoding.contenders import NAMES, Variant
from benchmarks.decoding.sampling import Cell
from benchmarks.decoding.targets import (
    Verdict,
    beam_name,
    judge_bleu,
    judge_cold_start,
    judge_conversion,
    judge_speeds,
)
from benchmarks.harness.rounds import Measurement, Speeds

MEBIBYTE = 2**20


@dataclass
class Findings:
    """All that a run found; what was not measured has no entry."""

    cells: list[Cell]
    variants: list[Variant]
    measurements: list[Measurement] = field(default_factory=list)
    # Seconds of each start: until ready, and in the session or model alone.
    loads: dict[Variant, list[tuple[float, float]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    peak_bytes: dict[Variant, int] = field(default_factory=dict)
    file_bytes: dict[str, int] = field(default_factory=dict)
    # By contender and beam size.
    bleu: dict[tuple[str, int], float] = field(default_factory=dict)
    equal_share: dict[tuple[str, int], float] = field(default_factory=dict)
    cold_start_seconds: list[float] = field(default_factory=list)
    # Why a contender, or one of its variants, is missing.
    reasons: dict[str, str] = field(default_factory=dict)
    # Paragraphs about model, test set, machine, rules.
    notes: list[str] = field(default_factory=list)

    @property
    def beam_sizes(self) -> list[int]:
        """Those of the cells, each once."""
        return list(dict.fromkeys(cell.beam_size for cell in self.cells))

    def verdicts(self) -> list[Verdict]:
        """The targets, held against what was found."""
        cold = median(self.cold_start_seconds) if self.cold_start_seconds else None
        return [
            *judge_speeds(Speeds(self.measurements), self.cells),
            *judge_bleu(self.bleu, self.beam_sizes),
            judge_cold_start(cold),
            judge_conversion(self.equal_share.get(("ctranslate2-float32", 1))),
        ]


def write_report(findings: Findings) -> str:
    """The whole page."""
    parts = [
        "# Decoding speed",
        "Written by `python -m benchmarks.decoding`; [benchmarks.md](../benchmarks.md) tells what "
        "is measured and how.",
        *findings.notes,
        speed_table(findings),
    ]
    if findings.reasons:
        missing = [f"- {NAMES.get(who, who)}: {why}" for who, why in findings.reasons.items()]
        parts.append("Not measured:\n\n" + "\n".join(missing))
    parts += ["## Targets", verdict_table(findings.verdicts())]
    return "\n\n".join(parts) + "\n"


def speed_table(findings: Findings) -> str:
    """A row per variant; target tokens per second in bold where its contender is best."""
    speeds = Speeds(findings.measurements)
    beams = findings.beam_sizes
    header = [
        "contender",
        "threads",
        *(f"{beam_name(cell.beam_size)}, batch {cell.batch_size}" for cell in findings.cells),
        "load, s",
        "of it the model, s",
        "peak memory, MiB",
        "file, MiB",
        *(f"BLEU, {beam_name(size)}" for size in beams),
        *(f"same as our PyTorch, {beam_name(size)}" for size in beams),
    ]
    rows = []
    seen: set[str] = set()
    for variant in findings.variants:
        if variant not in findings.loads:
            continue
        who = variant.contender
        row = ["" if who in seen else NAMES[who], variant.setting]
        for cell in findings.cells:
            speed = speeds.median(variant, cell)
            text = "–" if speed is None else f"{speed:,.0f}"
            row.append(f"**{text}**" if speeds.best([who], cell) == variant else text)
        row += [f"{median(one):.2f}" for one in zip(*findings.loads[variant], strict=True)]
        peak = findings.peak_bytes.get(variant)
        row.append("–" if peak is None else f"{peak / MEBIBYTE:.0f}")
        once = [f"{findings.file_bytes[who] / MEBIBYTE:.2f}" if who in findings.file_bytes else "–"]
        once += [_cell(findings.bleu, who, size, ".2f") for size in beams]
        once += [_cell(findings.equal_share, who, size, ".1%") for size in beams]
        rows.append(row + ([""] * len(once) if who in seen else once))
        seen.add(who)
    return markdown_table(header, rows, num_text_columns=2)


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """A row per target."""
    rows = [[one.text, one.found, one.target, one.word] for one in verdicts]
    return markdown_table(["ratio", "found", "target", ""], rows, num_text_columns=4)


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, num_text_columns: int
) -> str:
    """Rows of text as a Markdown table; columns of numbers, the later ones, stand to the right."""
    rule = ["---"] * num_text_columns + ["--:"] * (len(header) - num_text_columns)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def _cell(values: Mapping[tuple[str, int], float], who: str, beam_size: int, form: str) -> str:
    value = values.get((who, beam_size))
    return "–" if value is None else format(value, form)
