"""`python -m benchmarks.robustness`: a table of what becomes of bad input, of each class."""

import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from benchmarks.harness.machine import describe_commit, describe_machine
from benchmarks.harness.options import choose, run, tell
from benchmarks.harness.report import markdown_table, write_page
from benchmarks.robustness import artifacts, corpora, faults, params, service, text
from benchmarks.robustness.cases import GOOD, OUTCOMES, Result
from benchmarks.robustness.project import STAGES, Project
from transformer.files import atomic_write


class Class(NamedTuple):
    """A class of bad input.

    `attempt` makes one case; or `make_all` makes so many, by a seed.
    """

    attempt: Callable[[Random, Project, Path], Result] | None
    # Its cases in 1,000 of a whole run.
    share: int
    # The stages of the small project that have to have run.
    stages: tuple[str, ...] = ()
    prepare: Callable[[Project], object] = lambda _: None
    make_all: Callable[[int, int, Project, Path], Iterator[Result]] | None = None


class Case(NamedTuple):
    """What is kept of a case; class, seed and number name it."""

    name: str
    number: int
    seed: int
    commit: str
    result: Result


_UNTIL_IDS, _UNTIL_WEIGHTS = STAGES[:5], STAGES[:7]


def _handed_on(folder: str, *stages: str) -> Callable[[Random, Project, Path], Result]:
    return partial(artifacts.handed_on, folder, stages)


CLASSES = {
    "params as values": Class(params.values, 242, (), params.prepare),
    "params as text": Class(params.text, 120),
    "params in stages": Class(params.stages, 40, STAGES[:8]),
    "corpora": Class(corpora.files, 120, STAGES[:1], corpora.prepare),
    "raw text": Class(_handed_on("data/raw", "clean"), 30, STAGES[:3]),
    "clean text": Class(_handed_on("data/clean", "vocab", "tokenize"), 30, _UNTIL_IDS),
    "tokenizers": Class(_handed_on("models/tokenizer", "tokenize"), 30, _UNTIL_IDS),
    "ids": Class(_handed_on("data/ids", "train"), 25, _UNTIL_WEIGHTS),
    "pretrained weights": Class(_handed_on("models/pretrained", "train"), 15, _UNTIL_WEIGHTS),
    "checkpoints": Class(_handed_on("models/checkpoint", "evaluate"), 25, STAGES[:8]),
    "resume states": Class(artifacts.resume_state, 20, _UNTIL_WEIGHTS, artifacts.kill_training),
    "translators": Class(artifacts.translator, 50, STAGES),
    "hostile text": Class(text.python, 80, STAGES),
    "standard input": Class(text.command, 20, STAGES),
    "HTTP requests": Class(None, 120, STAGES, make_all=service.requests),
    "disk and streams": Class(faults.disk, 20, STAGES[:8]),
    "kill -9 and again": Class(faults.kill, 7, STAGES, faults.measure_stages),
    "two at once": Class(faults.two, 4, STAGES, faults.measure_stages),
    "MLflow's database": Class(faults.database, 2, (), faults.make_database),
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
    results: Annotated[
        Path | None,
        typer.Option(help="Where each case is noted as it ends; those in it are not tried again."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Try bad input of every class; each case in a process with limits of memory and time."""
    chosen = choose(classes, CLASSES, "--classes")
    _prepare_environment()
    found = _read_results(results, seed)
    commit = describe_commit()
    with tempfile.TemporaryDirectory(prefix="robustness-") as temporary:
        folder = (project or Path(temporary) / "project").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        small = Project(folder)
        stages = {stage for name in chosen for stage in CLASSES[name].stages}
        small.build([stage for stage in STAGES if stage in stages], tell)
        _import(small.modules)
        for name in chosen:
            CLASSES[name].prepare(small)
        done = {(one.name, one.number) for one in found}
        todo = _spread(chosen, cases) if case is None else [(name, case, 1) for name in chosen]
        todo = [one for one in todo if case is not None or one[:2] not in done]
        tell(f"{sum(many for *_, many in todo)} cases, {len(done)} done before")
        attempt = partial(_attempt, seed, small, Path(temporary))
        # Not multiprocessing's pool, whose processes may not have processes.
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"))
        try:
            for ended in as_completed([pool.submit(attempt, one) for one in todo]):
                name, numbered = ended.result()
                fresh = [Case(name, number, seed, commit, result) for number, result in numbered]
                found += fresh
                _note_results(results, fresh)
                for one in fresh:
                    if one.result.outcome not in GOOD or case is not None:
                        tell(_tell(one))
        finally:
            pool.shutdown(cancel_futures=True)
    page = make_page(found)
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary_output:
            temporary_output.write_text(page, encoding="utf-8")
    if any(one.result.outcome not in GOOD for one in found):
        raise SystemExit(1)


def make_page(cases: Sequence[Case]) -> str:
    """The table, and what it belongs to."""
    seeds = ", ".join(sorted({str(one.seed) for one in cases}))
    commits = ", then ".join(dict.fromkeys(one.commit for one in cases))
    results: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}
    for one in cases:
        results[one.name][one.result.outcome] += 1
    table = make_table({name: count for name, count in results.items() if count})
    about = f"{len(cases)} cases, seed {seeds}. {describe_machine()}; {commits}."
    return write_page("Robustness", "robustness", [about, table])


def make_table(results: dict[str, Counter[str]]) -> str:
    """A row for each class, and the sums."""
    rows = [
        [name, *(str(count) for count in (counts.total(), *(counts[one] for one in OUTCOMES)))]
        for name, counts in results.items()
    ]
    sums = [sum(int(row[column]) for row in rows) for column in range(1, len(OUTCOMES) + 2)]
    rows.append(["all", *map(str, sums)])
    return markdown_table(["class", "cases", *OUTCOMES], rows, num_text_columns=1)


def _spread(names: Iterable[str], num_cases: int) -> list[tuple[str, int, int]]:
    # Class, number and how many: in an order in which the slow classes are not all at the end.
    shares = {name: CLASSES[name].share for name in names}
    todo = []
    for name, share in shares.items():
        many = max(1, round(num_cases * share / sum(shares.values())))
        if CLASSES[name].make_all:
            todo.append((name, 0, many))
        else:
            todo += [(name, number, 1) for number in range(many)]
    Random(0).shuffle(todo)
    return todo


def _attempt(
    seed: int, project: Project, temporary: Path, case: tuple[str, int, int]
) -> tuple[str, list[tuple[int, Result]]]:
    name, number, many = case
    attempt, make_all = CLASSES[name].attempt, CLASSES[name].make_all
    folder = Path(tempfile.mkdtemp(dir=temporary))
    try:
        if make_all is not None:
            return name, list(enumerate(make_all(many, seed, project, folder)))
        assert attempt is not None
        return name, [(number, attempt(Random(f"{seed} {name} {number}"), project, folder))]
    except Exception:  # of the harness; the other cases go on
        return name, [(number, Result("not tried", "crashes", traceback.format_exc()))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_results(path: Path | None, seed: int) -> list[Case]:
    if path is None or not path.exists():
        return []
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, case, its_seed, commit, result = json.loads(line)
        one = Case(name, case, its_seed, commit, Result(*result))
        if one.seed != seed:
            raise ValueError(f"{path}, line {number}: of seed {one.seed}; take another file")
        cases.append(one)
    return cases


def _note_results(path: Path | None, cases: Iterable[Case]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in cases)


def _tell(case: Case) -> str:
    what, outcome, told = case.result
    return f"{case.name}, case {case.number}: {outcome}: {what}\n{told}"


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
