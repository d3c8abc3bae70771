"""`python -m benchmarks.robustness`: a table of what becomes of bad input, of each class."""

import contextlib
import gc
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import choose, run, tell
from benchmarks.harness.report import markdown_table, write_page
from benchmarks.robustness import artifacts, corpora, faults, params, text
from benchmarks.robustness.cases import GOOD, OUTCOMES, Result
from benchmarks.robustness.project import STAGES, Project
from transformer.files import atomic_write


class Class(NamedTuple):
    """A class of bad input."""

    attempt: Callable[[Random, Project, Path], Result]
    # Its cases in 1,000 of a whole run.
    share: int
    # The stages of the small project that have to have run.
    stages: tuple[str, ...] = ()
    prepare: Callable[[Project], object] = lambda _: None


_UNTIL_IDS, _UNTIL_WEIGHTS = STAGES[:4], STAGES[:6]


def _handed_on(folder: str, *stages: str) -> Callable[[Random, Project, Path], Result]:
    return partial(artifacts.handed_on, folder, stages)


CLASSES = {
    "params as values": Class(params.values, 260, (), params.prepare),
    "params as text": Class(params.text, 140),
    "params in stages": Class(params.stages, 60, STAGES[:7]),
    "corpora": Class(corpora.files, 120, STAGES[:1], corpora.prepare),
    "raw text": Class(_handed_on("data/raw", "clean"), 30, STAGES[:2]),
    "clean text": Class(_handed_on("data/clean", "vocab", "tokenize"), 30, _UNTIL_IDS),
    "tokenizers": Class(_handed_on("models/tokenizer", "tokenize"), 30, _UNTIL_IDS),
    "ids": Class(_handed_on("data/ids", "train"), 40, _UNTIL_WEIGHTS),
    "pretrained weights": Class(_handed_on("models/pretrained", "train"), 20, _UNTIL_WEIGHTS),
    "checkpoints": Class(_handed_on("models/checkpoint", "evaluate"), 40, STAGES[:7]),
    "resume states": Class(artifacts.resume_state, 30, _UNTIL_WEIGHTS, artifacts.kill_training),
    "translators": Class(artifacts.translator, 60, STAGES),
    "hostile text": Class(text.python, 80, STAGES),
    "standard input": Class(text.command, 20, STAGES),
    "disk and streams": Class(faults.disk, 30, STAGES[:7]),
    "kill -9 and again": Class(faults.kill, 7, STAGES, faults.measure_stages),
    "two at once": Class(faults.two, 2, STAGES, faults.measure_stages),
    "MLflow's database": Class(faults.database, 1, (), faults.make_database),
}


def main(
    cases: Annotated[int, typer.Option(min=1, help="In all classes together.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    classes: Annotated[str, typer.Option(help="Comma-separated.", show_default="all")] = ",".join(
        CLASSES
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes.", show_default="one per core")] = (
        os.cpu_count() or 1
    ),
    case: Annotated[
        int | None, typer.Option(min=0, help="One case of one class alone, to look into.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="The small project; made where it isn't, and kept.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Try bad input of every class; each case in a process with limits of memory and time."""
    chosen = choose(classes, CLASSES, "--classes")
    _prepare_environment()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="robustness-") as temporary:
        folder = (project or Path(temporary) / "project").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        small = Project(folder)
        stages = {stage for name in chosen for stage in CLASSES[name].stages}
        small.build([stage for stage in STAGES if stage in stages], tell)
        _import(small.modules)
        for name in chosen:
            CLASSES[name].prepare(small)
        todo = _spread(chosen, cases) if case is None else [(name, case) for name in chosen]
        tell(f"{len(todo)} cases")
        results: dict[str, Counter[str]] = {name: Counter() for name in chosen}
        bad = []
        attempt = partial(_attempt, seed, small, Path(temporary))
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            for name, index, result in pool.imap_unordered(attempt, todo):
                results[name][result.outcome] += 1
                if result.outcome not in GOOD or case is not None:
                    bad.append(result)
                    tell(f"{name}, case {index}: {result.outcome}: {result.what}\n{result.told}")
    minutes = (time.monotonic() - started) / 60
    about = f"{len(todo)} cases, seed {seed}, {jobs} at a time, in {minutes:.0f} minutes."
    parts = [f"{about} {describe_run()}", make_table(results)]
    page = write_page("Robustness", "robustness", parts)
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary_output:
            temporary_output.write_text(page, encoding="utf-8")
    if any(result.outcome not in GOOD for result in bad):
        raise SystemExit(1)


def make_table(results: dict[str, Counter[str]]) -> str:
    """A row for each class, and the sums."""
    rows = [
        [name, *(str(count) for count in (counts.total(), *(counts[one] for one in OUTCOMES)))]
        for name, counts in results.items()
    ]
    sums = [sum(int(row[column]) for row in rows) for column in range(1, len(OUTCOMES) + 2)]
    rows.append(["all", *map(str, sums)])
    return markdown_table(["class", "cases", *OUTCOMES], rows, num_text_columns=1)


def _spread(names: Iterable[str], num_cases: int) -> list[tuple[str, int]]:
    # In an order in which the slow classes are not all at the end.
    shares = {name: CLASSES[name].share for name in names}
    whole = sum(shares.values())
    todo = [
        (name, index)
        for name, share in shares.items()
        for index in range(max(1, round(num_cases * share / whole)))
    ]
    Random(0).shuffle(todo)
    return todo


def _attempt(
    seed: int, project: Project, temporary: Path, case: tuple[str, int]
) -> tuple[str, int, Result]:
    name, index = case
    folder = Path(tempfile.mkdtemp(dir=temporary))
    try:
        result = CLASSES[name].attempt(Random(f"{seed} {name} {index}"), project, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return name, index, result


def _prepare_environment() -> None:
    # One thread: a process that has several is not to be forked. Runs are not tracked.
    for name in [name for name in os.environ if name.startswith(("MLFLOW", "DVC"))]:
        del os.environ[name]
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "200"}
    for name in ("mlflow", "dvc"):
        sys.modules[name] = None  # type: ignore[assignment]


def _import(names: Iterable[str]) -> None:
    # What stages loaded, so that no case has to.
    for name in names:
        with contextlib.suppress(Exception):  # modules that only their own package can import
            importlib.import_module(name)
    if flops := sys.modules.get("transformer.monitoring.flops"):
        # A measurement that is told and not used, and takes as long as the rest.
        flops.measure_product_peak = lambda *_, **__: 1e11  # type: ignore[attr-defined]
    gc.freeze()


if __name__ == "__main__":
    run(main)
