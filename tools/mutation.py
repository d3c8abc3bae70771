"""The share of mutants that the tests notice: `python -m tools.mutation`.

A mutant is the code with one operator, number, condition, loop, decorator or caught exception
changed (cosmic-ray's operators). Places are drawn at random by a seed, and at each one of the
changes that are possible there. A mutant is noticed if one of the quick tests that reach its line
fails, or doesn't end. All mutants meet the nearest of them first; those that survive meet the rest.

Works on the commit that is checked out, in a clone for each core, and goes on where it stopped;
where tests alone have changed since, only the survivors meet those.
"""

import ast
import difflib
import hashlib
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
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache, lru_cache
from importlib import import_module
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import coverage
import hypothesis
import psutil
import pytest
import typer
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from hypothesis import HealthCheck

ROOT = Path(__file__).parents[1]
SUBJECTS = tuple(
    f"transformer/{name}" for name in ("model", "search", "training", "text", "serving")
)
# In the forked processes they are there already. None of this project's, which are mutated.
_PRELOADED = (
    *("torch", "torch.onnx", "torch._dynamo", "onnx", "onnxscript", "onnxruntime", "numpy"),
    *("pydantic", "tokenizers", "hypothesis", "pyarrow.parquet", "sacrebleu", "ruamel.yaml"),
    *("safetensors.torch", "torch.distributed.tensor", "typer.testing"),
)
# Of the tests that reach a mutant, up to so many seconds' worth are the nearest ones.
_NEAR_SECONDS = 10.0
_MEMORY_BYTES = 6 * 2**30
# Of the processor, beside twice what the tests take.
_CPU_SECONDS = 15
# What wants less than this share of a processor for so long waits for what never comes.
_WAIT_SHARE = 0.03
_WAIT_SECONDS = 60
_SHARED = "fixture "
_PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


class Reach(NamedTuple):
    """Which tests run which lines: their seconds of the processor, {module: {line: tests}}.

    What runs while a file of tests is read stands there as the file with `::`.
    """

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]


class Mutant(NamedTuple):
    """One change, and which lines the statement has that it is in."""

    module: str
    line: int
    operator: str
    occurrence: int
    first_line: int
    last_line: int
    is_in_function: bool
    source: str
    change: list[str]

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
            compared = difflib.unified_diff(source.splitlines(), mutated.splitlines(), n=0)
            change = [text.rstrip() for text in compared][3:]
            place = module, line, operator, occurrence, lines[0], lines[-1]
            yield Mutant(*place, is_in_function, mutated, change)
            break


def is_change(source: str, mutated: str) -> bool:
    """Whether what is run differs: neither no Python at all, nor a type hint alone."""
    try:
        return _dump_without_hints(source) != _dump_without_hints(mutated)
    except SyntaxError:
        return False


@lru_cache(maxsize=64)
def _dump_without_hints(source: str) -> str:
    """The syntax tree, each `X | Y` of a type hint as X."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            hint = getattr(node, field, None)
            while isinstance(hint, ast.BinOp):
                hint = hint.left
            if hint is not None:
                setattr(node, field, hint)
    return ast.dump(tree)


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
    """Tells coverage which test runs, and how much of the processor each takes.

    A fixture that tests share counts for each of them, with its lines and its time.
    """

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}
        self.tests_of: dict[str, list[str]] = defaultdict(list)
        self._test = ""
        self._shared: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, bool, bool]:
        self._test = item.nodeid
        self.measured.switch_context(item.nodeid)
        before, shared_before = _own_seconds(), sum(self._shared.values())
        done = yield
        own = max(0, _own_seconds() - before - sum(self._shared.values()) + shared_before)
        shared = {_SHARED + name for name in item.fixturenames} & self._shared.keys()
        self.seconds[item.nodeid] = round(own + sum(map(self._shared.__getitem__, shared)), 3)
        for name in (item.nodeid, *shared):
            self.tests_of[name].append(item.nodeid)
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before, name = _own_seconds(), _SHARED + fixturedef.argname
        self.measured.switch_context(name)
        made = yield
        self.measured.switch_context(self._test)
        self._shared[name] = self._shared.get(name, 0) + _own_seconds() - before
        return made


def _own_seconds() -> float:
    """Of the processor, with the processes that were started and have ended."""
    return sum(os.times()[:4])


class _Chooser:
    """Keeps the given tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = (item for item in items if item.nodeid in self.order)
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


def record_reach(folder: Path, subjects: Sequence[str], file: str) -> Reach:
    """Runs the quick tests of a file in this process under coverage.

    Raises:
        ValueError: one fails without any mutation.
    """
    measured = coverage.Coverage(data_file=None, source=[str(folder / one) for one in subjects])
    recorder = _Recorder(measured)
    measured.start()
    code = pytest.main(["-p", "no:cacheprovider", "-m", "not slow", file], plugins=[recorder])
    measured.stop()
    if code not in _PASSED:
        raise ValueError(f"{file}: tests fail without any mutation")
    data = measured.get_data()
    tests = {
        Path(module).relative_to(folder).as_posix(): {
            line: sorted(
                {
                    test
                    for context in contexts
                    for test in (recorder.tests_of[context] if context else [f"{file}::"])
                }
            )
            for line, contexts in data.contexts_by_lineno(module).items()
        }
        for module in data.measured_files()
    }
    return Reach(recorder.seconds, tests)


def read_reach(folder: Path, subjects: Sequence[str], files: Sequence[str], known: Path) -> Reach:
    """What the quick tests of these files reach; files that have changed are recorded again.

    A file of which a test fails without any mutation is told, and left out.
    """
    known.mkdir(exist_ok=True)
    reach = Reach({}, {})
    for file in files:
        record = known / f"{digest_of(file)}.json"
        if not record.exists():
            typer.echo(f"Recording which lines {file} reaches")

            def run() -> int:
                found = record_reach(folder, subjects, file)  # noqa: B023
                record.with_suffix(".tmp").write_text(json.dumps(found._asdict()))  # noqa: B023
                return 0

            # In a process of its own, in which no other test has left anything in a cache.
            log = known / f"tests-{os.getpid()}.log"
            if in_child(run, log) != 0:
                typer.echo(f"{file} is left out: it fails without any mutation", err=True)
                log.rename(record.with_suffix(".log"))
                continue
            record.with_suffix(".tmp").rename(record)
        one = Reach(**json.loads(record.read_text()))
        reach.seconds.update(one.seconds)
        for module, lines in one.tests.items():
            mine = reach.tests.setdefault(module, {})
            for line, tests in lines.items():
                mine.setdefault(int(line), []).extend(tests)
    return reach


@cache
def digest_of(file: str) -> str:
    """Of a file of tests, by its path in the clone, and of what it shares with others."""
    shared = [folder / "conftest.py" for folder in Path(file).parents]
    texts = [one.read_bytes() for one in (Path(file), *shared) if one.exists()]
    return hashlib.sha256(b"\0".join([file.encode(), *texts])).hexdigest()[:16]


def file_of(test: str) -> str:
    """The file that a test is in."""
    return test.partition("::")[0]


def choose_tests(mutant: Mutant, reach: Reach) -> tuple[list[str], list[str], list[str]]:
    """The tests of a mutant: in the nearest file, other near ones, all others."""
    lines = reach.tests.get(mutant.module, {})
    # What runs on import counts for all that the module is used by.
    own_lines = range(mutant.first_line, mutant.last_line + 1)
    reached = own_lines if mutant.is_in_function else lines
    contexts = {context for line in reached for context in lines.get(line, ())}
    mirror = Path("tests", *Path(mutant.module).parts[1:])
    mirror = mirror.with_name(f"test_{mirror.name}")
    # What one test of a file has made and kept, its others use without a trace. If there is none,
    # the mutant is run by processes that the tests start, or by nobody.
    files = {file_of(context) for context in contexts} or {mirror.as_posix()}
    all_tests = {test for test in reach.seconds if file_of(test) in files}
    direct = contexts & all_tests or all_tests

    def distance(test: str) -> tuple[int, float, str]:
        file = Path(file_of(test))
        apart = 9 - len(set(file.parents) & set(mirror.parents))
        return 0 if file == mirror else apart, reach.seconds[test], test

    nearest: list[str] = []
    near: list[str] = []
    seconds = 0.0
    for test in sorted(direct, key=distance):
        if seconds <= _NEAR_SECONDS:
            is_nearest = not nearest or file_of(test) == file_of(nearest[0])
            (nearest if is_nearest else near).append(test)
            seconds += reach.seconds[test]
    others = all_tests - {*nearest, *near}
    return nearest, near, sorted(others, key=lambda test: (test not in direct, distance(test)))


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
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = int(function())
        sys.stdout.flush()
        os._exit(status)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    wanted: dict[str, float] = {}
    is_waiting = False
    while process.is_alive() and not is_waiting:
        process.join(_WAIT_SECONDS)
        before, wanted = wanted, _wanted_seconds(process.pid)
        more = sum(seconds - before.get(thread, 0) for thread, seconds in wanted.items())
        is_waiting = more < _WAIT_SHARE * _WAIT_SECONDS
    status = None if process.exitcode == -signal.SIGXCPU else process.exitcode
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # with what its tests have left running
    process.join()
    return status


def _wanted_seconds(pid: int | None) -> dict[str, float]:
    """For how long each thread of a process, and of all it has started, ran or waited for a core.

    So a thread that a busy machine lets wait is told from one that waits for something else.
    """
    found = {}
    with suppress(psutil.NoSuchProcess):
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            for file in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
                with suppress(OSError):
                    running, ready, _ = map(int, file.read_text().split())
                    found[str(file)] = (running + ready) / 1e9
    return found


def run_tests(tests: Sequence[str], reach: Reach, log: Path) -> int | None:
    """Runs tests in a process of their own until one fails; returns as `in_child`."""

    def run() -> int:
        # Else a change that keeps size and second would run what was compiled before it.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        files = sorted({file_of(test) for test in tests})
        arguments = ["-x", "-p", "no:cacheprovider", "--tb=short", *files]
        return int(pytest.main(arguments, plugins=[_Chooser(tests)]))

    return in_child(run, log, _CPU_SECONDS + 2 * int(sum(reach.seconds[one] for one in tests)))


def try_mutant(
    folder: Path, mutant: Mutant, batches: Sequence[Sequence[str]], reach: Reach, log: Path
) -> tuple[str, str]:
    """Runs tests, each batch in a process, in a folder where a module is changed meanwhile.

    Returns:
        the outcome, and which test noticed it: it fails twice, the second time alone, so that a
        slow machine notices nothing.
    """
    file = folder / mutant.module
    source = file.read_text(encoding="utf-8")
    before = file.stat()
    file.write_text(mutant.source, encoding="utf-8")
    # Code that was compiled before goes by the time of its source, in whole seconds.
    os.utime(file, (before.st_atime, before.st_mtime + 60))
    left = [list(tests) for tests in batches]
    try:
        while left:
            status = run_tests(left[0], reach, log) if left[0] else pytest.ExitCode.OK
            if status in _PASSED:
                left.pop(0)
                continue
            if status is None:
                return "endless", ""
            text = log.read_text(errors="replace")
            found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.M)
            failed = [one for one in left[0] if found and one == found[1]]
            if not failed or run_tests(failed, reach, log) not in _PASSED:
                return "noticed", found[1] if found else f"exit status {status}"
            left[0].remove(failed[0])
    finally:
        file.write_text(source, encoding="utf-8")
        os.utime(file, (before.st_atime, before.st_mtime))
    return "survived", ""


def _check_out(commit: str, clone: Path) -> None:
    """Brings a clone of this repository to a commit."""
    if not clone.exists():
        clone.parent.mkdir(parents=True, exist_ok=True)
        new = clone.with_suffix(".tmp")
        shutil.rmtree(new, ignore_errors=True)
        command = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(new)]
        subprocess.run(command, check=True)
        new.rename(clone)
    for command in (["fetch", "--quiet", "origin", commit], ["checkout", "--quiet", "-f", commit]):
        subprocess.run(["git", *command], cwd=clone, check=True)


def main(
    num_mutants: Annotated[int, typer.Option(min=1, help="How many are drawn.")] = 400,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 1,
) -> None:
    """Tells which of the mutants that a seed gives the tests notice, and which they don't."""

    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()

    commit = git("rev-parse", "HEAD")
    # What was found holds for the code as it is, whatever becomes of its tests.
    code = git("rev-parse", f"HEAD:{SUBJECTS[0].partition('/')[0]}")
    work = ROOT / ".state" / "mutation" / code[:12]
    clones = [work / f"clone-{number}" for number in range(_count_workers())]
    for clone in clones:
        _check_out(commit, clone)
    os.chdir(clones[0])
    os.environ["OMP_NUM_THREADS"] = "1"
    # Compiling packages anew in each process takes longer than most tests.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    drawn = work / f"drawn-{seed}-{num_mutants}.json"
    if not drawn.exists():
        new = [one._asdict() for one in islice(draw_mutants(Path(), SUBJECTS, seed), num_mutants)]
        drawn.with_suffix(".tmp").write_text(json.dumps(new))
        drawn.with_suffix(".tmp").rename(drawn)
    mutants = [Mutant(**one) for one in json.loads(drawn.read_text())]
    for module in _PRELOADED:
        import_module(module)
    with redirect_stdout(StringIO()):
        pytest.main(["--version"])  # its plugins too
    # The same examples each time, however long they take to make.
    hypothesis.settings.register_profile(
        "mutation", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    hypothesis.settings.load_profile("mutation")
    results_file = work / f"mutants-{seed}.jsonl"

    # Not the tests of this program, which would run it.
    tests = {file.as_posix() for file in Path("tests").rglob("test_*.py")}
    files = sorted(file for file in tests if not file.startswith("tests/tools/"))
    rooms = tuple(f"{Path('tests', *Path(subject).parts[1:])}/" for subject in SUBJECTS)
    for is_last in (False, True):
        chosen = [file for file in files if is_last or file.startswith(rooms)]

        def record(worker: int) -> None:
            read_reach(clones[worker], SUBJECTS, chosen[worker :: len(clones)], work / "reach")  # noqa: B023

        _in_clones(clones, record)
        reach = read_reach(clones[0], SUBJECTS, chosen, work / "reach")

        def try_share(worker: int) -> None:
            results = _read_results(results_file)
            for number, mutant in list(enumerate(mutants, start=1))[worker :: len(clones)]:
                known, clone = results.get(mutant.name), clones[worker]
                found = _try_further(clone, mutant, known, reach, is_whole=is_last)  # noqa: B023
                if found is None:
                    continue
                with results_file.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                told = f"{found['outcome']}  {mutant.name}  {found['by']}"
                typer.echo(f"{number} of {num_mutants}  {told}")

        _in_clones(clones, try_share)
        results = _read_results(results_file)
        _tell([results[mutant.name] for mutant in mutants], seed, commit)


def _count_workers() -> int:
    # Each on a core, and with the memory that it may take.
    return max(1, min(os.cpu_count() or 1, int(psutil.virtual_memory().total // _MEMORY_BYTES)))


def _in_clones(clones: Sequence[Path], work: Callable[[int], None]) -> None:
    """Lets a process in each clone do its share."""

    def run(worker: int) -> None:
        os.chdir(clones[worker])
        sys.path.insert(0, str(clones[worker]))
        os.environ["PYTHONPATH"] = str(clones[worker])
        work(worker)

    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=run, args=(number,)) for number in range(len(clones))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("A worker failed; what was found is kept, and the same command goes on")


def _read_results(file: Path) -> dict[str, dict[str, Any]]:
    text = file.read_text() if file.exists() else ""
    return {one["mutant"]: one for one in map(json.loads, text.splitlines())}


def _try_further(
    clone: Path, mutant: Mutant, known: dict[str, Any] | None, reach: Reach, *, is_whole: bool
) -> dict[str, Any] | None:
    """What comes of the tests that a mutant hasn't met; None if there are none, or it was noticed.

    Args:
        known: what came of others.
        is_whole: all that reach it, not the nearest alone.
    """
    if known and known["outcome"] != "survived":
        return None
    batches = choose_tests(mutant, reach)[: None if is_whole else 2]
    labels = {test: f"{digest_of(file_of(test))} {test}" for test in chain(*batches)}
    met = set(known["met"]) if known else set()
    left = [[test for test in tests if labels[test] not in met] for tests in batches]
    if known and not any(left):
        return None
    started = time.monotonic()
    outcome, by = try_mutant(clone, mutant, left, reach, clone.with_suffix(".log"))
    return {
        "mutant": mutant.name,
        "outcome": outcome,
        "by": by,
        "seconds": round(time.monotonic() - started, 1),
        "change": mutant.change,
        "met": sorted({*met, *labels.values()}) if outcome == "survived" else [],
    }


def _tell(results: Sequence[dict[str, Any]], seed: int, commit: str) -> None:
    """Prints the survivors, and how many mutants were noticed in each room."""
    survivors = [one for one in results if one["outcome"] == "survived"]
    for one in survivors:
        header = f"survived {len(one['met'])} tests: {one['mutant']}"
        typer.echo("\n".join(["", header, *one["change"]]))
    counts = Counter(one["mutant"].split("/")[1] for one in results)
    missed = Counter(one["mutant"].split("/")[1] for one in survivors)
    typer.echo("")
    for subject in sorted(counts):
        typer.echo(f"{subject:10} {counts[subject] - missed[subject]:4} of {counts[subject]}")
    noticed = len(results) - len(survivors)
    share = f"{noticed} of {len(results)} mutants noticed ({noticed / len(results):.1%})"
    typer.echo(f"{share}, seed {seed}, commit {commit[:7]}")


if __name__ == "__main__":
    typer.run(main)
