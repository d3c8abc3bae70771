"""Which tests run which lines, and so which of them a mutant meets."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest
import typer

from tools.mutation.child import in_child
from tools.mutation.mutants import Mutant

PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
# Of the tests that reach a mutant, up to so many seconds' worth are the nearest ones.
_NEAR_SECONDS = 10.0
_SHARED = "fixture "


class Reach(NamedTuple):
    """Which tests run which lines: their seconds of the processor, {module: {line: tests}}.

    What runs while a file of tests is read stands there as the file with `::`.
    """

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]


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
    if code not in PASSED:
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
