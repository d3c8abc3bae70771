"""What a run of the decoding benchmark found: its table, its targets, its figures for MLflow."""

import tempfile
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, NamedTuple

from benchmarks.decoding.contenders import NAMES
from benchmarks.harness.findings import Findings, label
from benchmarks.harness.report import MEBIBYTE, Verdict, judge, markdown_table
from benchmarks.harness.rounds import Variant
from pipeline.tracking.system import WORKLOAD

CTRANSLATE2 = ("ctranslate2-float32", "ctranslate2-int8", "ctranslate2-int8-shortlist")
# One contender's best setting over the best of others, in every cell: at least so much.
SPEED_TARGETS = {
    "int8 / CTranslate2's best": (("onnx-int8",), CTRANSLATE2, 1.5),
    "fp32 / CTranslate2's best fp32": (("onnx-float32",), CTRANSLATE2[:1], 1.0),
    "int8 / the tutorial's decoding": (("onnx-int8",), ("tutorial",), 10.0),
}
MAX_BLEU_LOSS = 0.3
MAX_COLD_START_SECONDS = 1.0
# Whether CTranslate2 really runs our weights: greedy search in float32 leaves no choice.
MIN_CONVERSION_EQUAL = 0.99

# By contender and beam size.
Quality = dict[tuple[str, int], float]


class Cell(NamedTuple):
    """One column of the table."""

    batch_size: int
    beam_size: int


@dataclass
class DecodingFindings(Findings):
    """All that a run found."""

    title: ClassVar[str] = "Decoding speed"
    command: ClassVar[str] = "decoding"
    names: ClassVar[Mapping[str, str]] = NAMES
    cell_columns: ClassVar[tuple[str, ...]] = Cell._fields

    cells: list[Cell]
    # Seconds of each start: until ready, and in the session or model alone.
    loads: dict[Variant, list[tuple[float, float]]] = field(default_factory=dict)
    file_bytes: dict[str, int] = field(default_factory=dict)
    bleu: Quality = field(default_factory=dict)
    equal_share: Quality = field(default_factory=dict)
    cold_start_seconds: list[float] = field(default_factory=list)

    @property
    def beam_sizes(self) -> list[int]:
        """Those of the cells, each once."""
        return list(dict.fromkeys(cell.beam_size for cell in self.cells))

    def verdicts(self) -> list[Verdict]:
        """Speed in every cell, what int8 costs in quality, the cold start, the conversion."""
        speeds, bleu = self.speeds, self.bleu
        verdicts = [
            judge(f"{text}, {cell_name(cell)}", speeds.ratio(ours, theirs, cell), least)
            for text, (ours, theirs, least) in SPEED_TARGETS.items()
            for cell in self.cells
        ]
        for size in self.beam_sizes:
            full, small = bleu.get(("onnx-float32", size)), bleu.get(("onnx-int8", size))
            loss = None if full is None or small is None else small - full
            text = f"BLEU of int8 less fp32's, {beam_name(size)}"
            verdicts.append(judge(text, loss, -MAX_BLEU_LOSS, "{:+.2f}"))
        cold = median(self.cold_start_seconds) if self.cold_start_seconds else None
        text = "`translate`, process start to first translation"
        verdicts.append(judge(text, cold, MAX_COLD_START_SECONDS, "{:.2f} s", is_most=True))
        equal = self.equal_share.get(("ctranslate2-float32", 1))
        text = "CTranslate2's greedy float32 translations that equal ours"
        return [*verdicts, judge(text, equal, MIN_CONVERSION_EQUAL, "{:.1%}")]

    def table(self) -> str:
        """A row per variant; target tokens per second in bold where its contender is best."""
        beams = self.beam_sizes
        header = ["contender", "threads", *map(cell_name, self.cells)]
        header += ["load, s", "of it the model, s", "peak memory, MiB", "file, MiB"]
        header += [f"BLEU, {beam_name(size)}" for size in beams]
        header += [f"same as our PyTorch, {beam_name(size)}" for size in beams]
        speeds, rows, seen = self.speeds, [], set[str]()
        for variant in self.variants:
            if variant not in self.loads:
                continue
            who = variant.contender
            row = ["" if who in seen else NAMES[who], variant.setting]
            for cell in self.cells:
                text = _show(speeds.median(variant, cell), "{:,.0f}")
                row.append(f"**{text}**" if speeds.best([who], cell) == variant else text)
            row += [f"{median(one):.2f}" for one in zip(*self.loads[variant], strict=True)]
            row.append(_show(self.peak_bytes(variant), "{:.0f}", MEBIBYTE))
            once = [_show(self.file_bytes.get(who), "{:.2f}", MEBIBYTE)]
            once += [_show(self.bleu.get((who, size)), "{:.2f}") for size in beams]
            once += [_show(self.equal_share.get((who, size)), "{:.1%}") for size in beams]
            rows.append(row + ([""] * len(once) if who in seen else once))
            seen.add(who)
        return markdown_table(header, rows, num_text_columns=2)

    def more(self) -> dict[str, Any]:
        """Starts, sizes, quality."""

        def named(values: Quality) -> dict[str, float]:
            return {f"{who}, {beam_name(size)}": value for (who, size), value in values.items()}

        return {
            "load_seconds": {label(variant): seconds for variant, seconds in self.loads.items()},
            "file_bytes": self.file_bytes,
            "bleu": named(self.bleu),
            "equal_share": named(self.equal_share),
            "cold_start_seconds": self.cold_start_seconds,
        }

    def metrics(self) -> dict[str, float]:
        """Target tokens per second of each contender's best setting, by names for MLflow."""
        speeds, figures = self.speeds, {}
        for cell in self.cells:
            for who in dict.fromkeys(variant.contender for variant in self.variants):
                found = speeds.median(speeds.best([who], cell), cell)
                if found is not None:
                    where = f"batch_{cell.batch_size}.{beam_name(cell.beam_size).replace(' ', '_')}"
                    figures[f"{WORKLOAD}benchmark.{who}.{where}.tokens_per_second"] = found
        return figures


def log_findings(findings: DecodingFindings, project: Path, page: str) -> bool:
    """Puts speeds and page into the newest MLflow run of the project's model.

    Returns:
        Whether there is such a run; one is not made for it.
    """
    from pipeline.paths import CHECKPOINT
    from pipeline.tracking.runs import find_tracker
    from transformer.model.checkpoint import model_hash

    digest = model_hash(project / CHECKPOINT)
    with chdir(project), tempfile.TemporaryDirectory() as folder:
        tracker = find_tracker(digest)
        if tracker is None:
            return False
        tracker.metrics(findings.metrics())
        path = Path(folder) / "decoding.md"
        path.write_text(page, encoding="utf-8")
        return tracker.files("benchmark", [path])


def beam_name(beam_size: int) -> str:
    """Such as `greedy`, `beam 4`."""
    return "greedy" if beam_size == 1 else f"beam {beam_size}"


def cell_name(cell: Cell) -> str:
    """Such as `greedy, batch 8`."""
    return f"{beam_name(cell.beam_size)}, batch {cell.batch_size}"


def _show(value: float | None, form: str, unit: float = 1) -> str:
    return "–" if value is None else form.format(value / unit)
