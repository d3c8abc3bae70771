"""The share of mutants that the tests notice: `python -m tools.mutation`.

A mutant is the code with one operator, number, condition, loop, decorator or caught exception
changed (cosmic-ray's operators). Places are drawn at random by a seed, and at each one of the
changes that are possible there. A mutant is noticed if one of the quick tests that reach its line
fails, or doesn't end.

Works on the commit that is checked out, in a clone of its own, and goes on where it stopped.
"""

import ast
import difflib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import coverage
import pytest
import typer
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
SUBJECTS = tuple(
    f"transformer/{name}" for name in ("model", "search", "training", "text", "serving")
)
# In the forked processes they are there already. None of this project's, which are mutated.
_PRELOADED = (
    *("torch", "torch.onnx", "torch._dynamo", "onnx", "onnxscript", "onnxruntime", "numpy"),
    *("pydantic", "tokenizers", "hypothesis", "pyarrow.parquet", "sacrebleu", "ruamel.yaml"),
    *("safetensors.torch", "typer.testing"),
)
# Of the tests that reach a mutant, the nearest ones run first, then others, up to so many seconds.
_NEAR_SECONDS = 10.0
_FAR_SECONDS = 90.0
_MEMORY_BYTES = 8 * 2**30
# Of the processor, beside four times what the tests take; then for what waits and never ends.
_CPU_SECONDS = 30
_WAIT_SECONDS = 600


class Reach(NamedTuple):
    """Which tests run which lines: seconds by test, and {module: {line: tests}}."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]


class Mutant(NamedTuple):
    """One change: of `lines`, all of the statement that it is in."""

    module: str
    line: int
    operator: str
    occurrence: int
    lines: range
    is_in_function: bool
    source: str

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.module}:{self.line} {self.operator.removeprefix('core/')} {self.occurrence}"


def list_places(module: str, source: str) -> list[list[tuple[int, str, int]]]:
    """The (line, operator, occurrence) of the changes that are possible, by place."""
    places = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments():
            continue
        positions = [place for node in nodes for place in operator().mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            places[start, end].append((start[0], name, occurrence))
    return [places[place] for place in sorted(places)]


def draw_mutants(folder: Path, subjects: Sequence[str], seed: int) -> Iterator[Mutant]:
    """All mutants of the modules in `subjects`, at most one for each place, in random order."""
    sources = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for subject in subjects
        for file in sorted((folder / subject).rglob("*.py"))
    }
    places = [(name, place) for name in sources for place in list_places(name, sources[name])]
    chance = random.Random(seed)
    chance.shuffle(places)
    for module, changes in places:
        chance.shuffle(changes)
        for line, operator, occurrence in changes:
            source = sources[module]
            mutated = mutate_code(source, get_operator(operator)(), occurrence)
            if not is_change(source, mutated):
                continue
            lines, is_in_function = statement_around(ast.parse(source), line)
            yield Mutant(module, line, operator, occurrence, lines, is_in_function, mutated)
            break


def is_change(source: str, mutated: str) -> bool:
    """Whether what is run differs: neither no Python at all, nor a type hint alone."""
    try:
        return ast.dump(_without_hints(source)) != ast.dump(_without_hints(mutated))
    except SyntaxError:
        return False


def _without_hints(source: str) -> ast.AST:
    """The syntax tree, each `X | Y` of a type hint as X."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            hint = getattr(node, field, None)
            while isinstance(hint, ast.BinOp):
                hint = hint.left
            if hint is not None:
                setattr(node, field, hint)
    return tree


def statement_around(tree: ast.Module, line: int) -> tuple[range, bool]:
    """The lines of the innermost statement at a line, without its body; if a function has it."""
    found, is_in_function = range(line, line + 1), False
    for node in ast.walk(tree):  # from the outside in
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        body = getattr(node, "body", None)
        if not body:
            found = range(node.lineno, (node.end_lineno or 0) + 1)
        elif line < body[0].lineno:
            found = range(node.lineno, body[0].lineno)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_in_function = True
    return found, is_in_function


class _Recorder:
    """Tells coverage which test runs, and how long each takes."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.measured.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration


class _Chooser:
    """Keeps the given tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = (item for item in items if item.nodeid in self.order)
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


def record_reach(folder: Path, subjects: Sequence[str], arguments: Sequence[str]) -> Reach:
    """Runs tests in this process under coverage.

    Raises:
        ValueError: one fails without any mutation.
    """
    measured = coverage.Coverage(data_file=None, source=[str(folder / one) for one in subjects])
    recorder = _Recorder(measured)
    measured.start()
    code = pytest.main(["-p", "no:cacheprovider", *arguments], plugins=[recorder])
    measured.stop()
    if code != 0:
        raise ValueError("tests fail without any mutation")
    data = measured.get_data()
    tests = {
        Path(file).relative_to(folder).as_posix(): {
            line: sorted(set(contexts) - {""})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return Reach(dict(recorder.seconds), tests)


def choose_tests(mutant: Mutant, reach: Reach) -> tuple[list[str], list[str]]:
    """The tests of a mutant: the nearest ones, then others."""
    lines = reach.tests.get(mutant.module, {})
    # What runs on import counts for all that the module is used by.
    reached = mutant.lines if mutant.is_in_function else lines
    tests = {test for line in reached for test in lines.get(line, ())}
    mirror = Path("tests", *Path(mutant.module).parts[1:])
    mirror = mirror.with_name(f"test_{mirror.name}")
    if not tests:  # run by processes that the tests start, or by none
        tests = {test for test in reach.seconds if test.startswith(f"{mirror}::")}

    def distance(test: str) -> tuple[int, float, str]:
        file = Path(test.partition("::")[0])
        if file == mirror:
            return 0, reach.seconds[test], test
        return 9 - len(set(file.parents) & set(mirror.parents)), reach.seconds[test], test

    near: list[str] = []
    far: list[str] = []
    seconds = 0.0
    for test in sorted(tests, key=distance):
        if seconds + reach.seconds[test] <= _FAR_SECONDS:
            (near if seconds <= _NEAR_SECONDS else far).append(test)
            seconds += reach.seconds[test]
    return near, far


def in_child(function: Callable[[], int], log: Path, cpu_seconds: int | None = None) -> int | None:
    """Runs a function in a forked process with its printed text in a file.

    Args:
        cpu_seconds: time of the processor that it may take, which other processes don't change.

    Returns:
        its exit status; None if it didn't end by itself.
    """

    def run() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = int(function())
        sys.stdout.flush()
        os._exit(status)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(cpu_seconds and cpu_seconds + _WAIT_SECONDS)
    status = None if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else process.exitcode
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # with what its tests have left running
    process.join()
    return status


def try_mutant(folder: Path, mutant: Mutant, reach: Reach, log: Path) -> dict[str, Any]:
    """Runs the tests of a mutant, in a folder where its module is changed meanwhile."""
    file = folder / mutant.module
    source = file.read_text(encoding="utf-8")
    before = file.stat()
    started = time.monotonic()
    outcome, by, num_tests = "survived", "", 0
    file.write_text(mutant.source, encoding="utf-8")
    # Code that was compiled before goes by the time of its source, in whole seconds.
    os.utime(file, (before.st_atime, before.st_mtime + 60))
    try:
        for tests in choose_tests(mutant, reach):
            if not tests or outcome != "survived":
                continue
            num_tests += len(tests)
            files = sorted({test.partition("::")[0] for test in tests})
            arguments = ["-x", "-p", "no:cacheprovider", "--tb=short", *files]
            status = in_child(
                lambda: pytest.main(arguments, plugins=[_Chooser(tests)]),  # noqa: B023
                log,
                _CPU_SECONDS + 4 * int(sum(reach.seconds[test] for test in tests)),
            )
            if status is None:
                outcome = "endless"
            elif status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                outcome = "noticed"
                found = re.search(r"^(?:FAILED|ERROR) (\S+)", log.read_text(errors="replace"), re.M)
                by = found[1] if found else f"exit status {status}"
    finally:
        file.write_text(source, encoding="utf-8")
        os.utime(file, (before.st_atime, before.st_mtime))
    lines = source.splitlines(), mutant.source.splitlines()
    changed = list(difflib.unified_diff(*lines, n=0, lineterm=""))[3:]
    return {
        "mutant": mutant.name,
        "outcome": outcome if num_tests else "not reached",
        "by": by,
        "num_tests": num_tests,
        "seconds": round(time.monotonic() - started, 1),
        "change": changed,
    }


def main(
    num_mutants: Annotated[int, typer.Option(min=1, help="How many are drawn.")] = 400,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 1,
) -> None:
    """Tells which of the mutants that a seed gives the tests notice, and which they don't."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    work = ROOT / ".state" / "mutation" / commit[:12]
    folder = work / "clone"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(work / "clone.tmp", ignore_errors=True)
        clone = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(work / "clone.tmp")]
        subprocess.run(clone, check=True)
        (work / "clone.tmp").rename(folder)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    for module in _PRELOADED:
        import_module(module)

    reach_file = work / "reach.json"
    if not reach_file.exists():
        typer.echo("Running the quick tests once, to see which lines each of them reaches")

        def record() -> int:
            reach = record_reach(folder, SUBJECTS, ["-m", "not slow", "tests"])
            reach_file.with_suffix(".tmp").write_text(json.dumps(reach._asdict()))
            reach_file.with_suffix(".tmp").rename(reach_file)
            return 0

        if in_child(record, work / "reach.log") != 0:
            told = f"error: tests fail without any mutation; see {work}/reach.log"
            typer.echo(told, err=True)
            raise typer.Exit(1)
    recorded = json.loads(reach_file.read_text())
    reach = Reach(
        recorded["seconds"],
        {
            module: {int(line): tests for line, tests in lines.items()}
            for module, lines in recorded["tests"].items()
        },
    )
    # Else a change that keeps size and second would run what was compiled before it.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

    results_file = work / f"mutants-{seed}.jsonl"
    text = results_file.read_text() if results_file.exists() else ""
    results = {one["mutant"]: one for one in map(json.loads, text.splitlines())}
    drawn: list[str] = []
    for mutant in draw_mutants(folder, SUBJECTS, seed):
        if len(drawn) == num_mutants:
            break
        drawn.append(mutant.name)
        if mutant.name not in results:
            result = results[mutant.name] = try_mutant(folder, mutant, reach, work / "tests.log")
            with results_file.open("a") as file:
                file.write(json.dumps(result) + "\n")
            line = f"{len(drawn)} of {num_mutants}  {result['outcome']}  {mutant.name}"
            typer.echo(f"{line}  {result['by']}")

    kept = [results[name] for name in drawn]
    survivors = [one for one in kept if one["outcome"] in ("survived", "not reached")]
    for one in survivors:
        typer.echo("\n".join(["", f"{one['outcome']}: {one['mutant']}", *one["change"]]))
    counts = Counter(name.split("/")[1] for name in drawn)
    missed = Counter(one["mutant"].split("/")[1] for one in survivors)
    typer.echo("")
    for subject in counts:
        typer.echo(f"{subject:10} {counts[subject] - missed[subject]:4} of {counts[subject]}")
    noticed = len(drawn) - len(survivors)
    share = f"{noticed} of {len(drawn)} mutants noticed ({noticed / len(drawn):.1%})"
    typer.echo(f"{share}, seed {seed}, commit {commit[:7]}")


if __name__ == "__main__":
    typer.run(main)
