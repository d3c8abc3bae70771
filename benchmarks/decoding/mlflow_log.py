"""A run's figures among those of the model that it measured, in MLflow."""

import tempfile
from contextlib import chdir
from pathlib import Path

from benchmarks.decoding.findings import Findings
from benchmarks.decoding.project import Project
from benchmarks.decoding.targets import beam_name
from benchmarks.harness.rounds import Speeds


def list_speeds(findings: Findings) -> dict[str, float]:
    """Target tokens per second of each contender's best setting, by names for MLflow."""
    speeds = Speeds(findings.measurements)
    figures = {}
    for cell in findings.cells:
        for contender in dict.fromkeys(variant.contender for variant in findings.variants):
            best = speeds.best([contender], cell)
            found = speeds.median(best, cell) if best is not None else None
            if found is not None:
                where = f"batch_{cell.batch_size}.{beam_name(cell.beam_size).replace(' ', '_')}"
                figures[f"benchmark.{contender}.{where}.tokens_per_second"] = found
    return figures


def log_findings(findings: Findings, project: Project, report: str) -> bool:
    """Puts speeds and page into the newest run of the project's model.

    Returns:
        Whether there is such a run; one is not made for it.
    """
    from pipeline.tracking.runs import find_tracker
    from transformer.model.checkpoint import model_hash

    digest = model_hash(project.checkpoint)
    with chdir(project.folder), tempfile.TemporaryDirectory() as folder:
        tracker = find_tracker(digest)
        if tracker is None:
            return False
        tracker.metrics(list_speeds(findings))
        page = Path(folder) / "decoding.md"
        page.write_text(report, encoding="utf-8")
        return tracker.files("benchmark", [page])
