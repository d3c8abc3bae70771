"""Mutants of a small project: noticed by the tests that reach them, or told."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutation import trial
from tools.mutation.mutants import Mutant, is_change, list_places, statement_around
from tools.mutation.reach import Reach, choose_tests

ROOT = Path(__file__).parents[2]
MODULE = """
def add(left: int | None, right: int | None) -> int:
    return left + right


def is_large(number):
    return number > 9


def count(numbers):
    found = 0
    for _ in numbers:
        found += 1
    return found


def count_down(number):
    while number:
        number -= 1


def forgotten(number):
    return not number
"""
# One finds fault with whatever `is_large` returns.
TESTS = """
from small.model.sums import add, count, count_down, is_large

def test_add():
    assert add(2, 3) == 5

def test_is_large():
    is_large(5)

def test_count():
    assert count("ab") == 2

def test_count_down():
    count_down(3)
"""
DRIVER = """
import sys
from pathlib import Path
from tools.mutation import __main__ as mutation, trial
mutation.ROOT, mutation.SUBJECTS, mutation._PRELOADED = Path.cwd(), ("small",), ()
trial._CPU_SECONDS = 3
mutation.main(num_mutants=int(sys.argv[1]), seed=3)
"""


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "small/__init__.py": "",
        "small/model/__init__.py": "",
        "small/model/sums.py": MODULE,
        "tests/model/test_sums.py": TESTS,
        ".gitignore": ".state\n__pycache__\n",
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow']\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    commit(tmp_path)
    return tmp_path


def commit(project):
    user = ("-c", "user.name=x", "-c", "user.email=x")
    for arguments in (("add", "--all"), (*user, "commit", "--quiet", "-m", "small")):
        subprocess.run(["git", *arguments], cwd=project, check=True)


def run(project, num_mutants):
    command = [sys.executable, "-c", DRIVER, str(num_mutants)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr + done.stdout


@pytest.mark.slow
def test_what_tests_notice_is_told_from_what_they_do_not(project):
    run(project, 2)
    printed = run(project, 99)
    assert "\n1 of 99" not in f"\n{printed}"  # it goes on after the two
    (file,) = project.glob(".state/mutation/*/mutants-3.jsonl")
    results = {one["mutant"]: one for one in map(json.loads, file.read_text().splitlines())}
    by_line = {}
    for one in results.values():
        line = int(one["mutant"].split(":")[1].split()[0])
        by_line.setdefault(line, set()).add((one["outcome"], one["by"].split(" - ")[0]))
    at = {text.strip(): number for number, text in enumerate(MODULE.split("\n"), start=1)}
    test = "tests/model/test_sums.py::test_"
    assert by_line == {
        at["return left + right"]: {("noticed", f"{test}add")},
        at["return number > 9"]: {("survived", "")},
        at["found = 0"]: {("noticed", f"{test}count")},
        at["for _ in numbers:"]: {("noticed", f"{test}count")},
        at["found += 1"]: {("noticed", f"{test}count")},
        at["while number:"]: {("survived", "")},
        at["number -= 1"]: {("endless", "")},
        at["return not number"]: {("survived", "")},
    }
    num_noticed = sum(one["outcome"] in ("noticed", "endless") for one in results.values())
    assert f"{num_noticed} of {len(results)} mutants noticed" in printed
    assert "-    return number > 9" in printed
    clones = list(file.parent.glob("clone-*/"))
    assert clones
    assert {(clone / "small/model/sums.py").read_text() for clone in clones} == {MODULE}
    assert subprocess.check_output(["git", "status", "--short"], cwd=project, text=True) == ""

    # Of a test that is new, the survivors alone hear.
    limit = "def test_limit():\n    assert is_large(10)\n    assert not is_large(9)\n"
    (project / "tests/model/test_sums.py").write_text(f"{TESTS}\n{limit}")
    commit(project)
    printed = run(project, 99)
    assert f"noticed  small/model/sums.py:{at['return number > 9']} " in printed
    assert f"small/model/sums.py:{at['return left + right']} " not in printed
    num_noticed += sum(f":{at['return number > 9']} " in name for name in results)
    assert f"{num_noticed} of {len(results)} mutants noticed" in printed


def test_tests_that_fail_by_themselves_are_left_out(project):
    (project / "tests/model/test_sums.py").write_text("def test_it():\n    assert False\n")
    commit(project)
    printed = run(project, 1)
    assert "tests/model/test_sums.py is left out: it fails without any mutation" in printed
    assert "0 of 1 mutants noticed (0.0%)" in printed


@pytest.mark.parametrize(
    ("again", "expected"),
    [(1, ("noticed", "tests/t.py::test_a")), (0, ("survived", ""))],
    ids=["always", "once"],
)
def test_what_fails_once_notices_nothing(tmp_path, monkeypatch, again, expected):
    runs = []

    def run_tests(tests, reach, log):
        runs.append(tests.copy())
        log.write_text("FAILED tests/t.py::test_a - assert 1 == 2\n")
        return {("tests/t.py::test_a",): again, ("tests/t.py::test_b",): 0}.get(tuple(tests), 1)

    monkeypatch.setattr(trial, "run_tests", run_tests)
    (tmp_path / "a.py").write_text("x = 1\n")
    mutant = Mutant("a.py", 1, "", 0, 1, 1, False, "x = 2\n", [])
    batch = ["tests/t.py::test_a", "tests/t.py::test_b"]
    tried = trial.try_mutant(tmp_path, mutant, [batch], Reach({}, {}), tmp_path / "log")
    assert tried == expected
    assert runs[:2] == [batch, batch[:1]]
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("mutated", "expected"),
    [
        ("def f(a: int | None) -> int:\n    return a - 1\n", True),
        ("def f(a: int - None) -> int:\n    return a + 1\n", False),
        ("def f(a: int | None) -> int:\n    return  a + 1\n", False),
        ("def f(a: int | None) -> int:\n    return a + + + / 1\n", False),
    ],
)
def test_only_what_runs_is_a_change(mutated, expected):
    assert is_change("def f(a: int | None) -> int:\n    return a + 1\n", mutated) == expected


def test_what_only_checks_is_no_change():
    strict = "for a, b in zip(x, y, strict={}):\n    pass\n"
    assert not is_change(strict.format(True), strict.format(False))
    assert is_change(strict.format(True), strict.replace("x, y", "y, x").format(True))
    assert is_change("f(strict=True)", "f(strict=False)")


def test_a_place_has_all_its_changes():
    source = "x = 1 + 2\n"
    places = list_places("x.py", source)
    assert [len({name for _, name, _ in place}) for place in places] == [1, 11, 1]


def test_a_change_belongs_to_its_whole_statement_without_the_body():
    tree = ast.parse("if a and (\n    b\n):\n    c(\n        1\n    )\nclass X:\n    y = 2\n")
    assert statement_around(tree, 2) == (range(1, 4), False)
    assert statement_around(tree, 5) == (range(4, 7), False)
    tree = ast.parse("def f():\n    return (\n        1\n    )\n")
    assert statement_around(tree, 3) == (range(2, 5), True)
    assert statement_around(tree, 1) == (range(1, 2), False)


def test_near_tests_come_first_and_then_all_of_their_files():
    seconds = {
        "tests/export/test_graph.py::test_far": 1.0,
        "tests/model/test_layers.py::test_other": 1.0,
        "tests/model/test_norm.py::test_own": 5.0,
        "tests/model/test_norm.py::test_long": 500.0,
        "tests/text/test_ids.py::test_apart": 1.0,
        "tests/text/test_ids.py::test_no_line": 0.5,
    }
    far, other, own, long, apart, no_line = seconds
    lines = {3: [far, other, own, long], 8: ["tests/text/test_ids.py::"], 9: [apart]}
    reach = Reach(seconds, {"transformer/model/norm.py": lines})

    def chosen(line, is_in_function=True, module="transformer/model/norm.py"):
        mutant = Mutant(module, line, "", 0, line, line, is_in_function, "", [])
        return choose_tests(mutant, reach)

    assert chosen(3) == ([own, long], [], [other, far])
    seconds[long] = 2.0
    assert chosen(3) == ([long, own], [other, far], [])
    assert chosen(9) == ([apart], [], [no_line])
    assert chosen(8) == ([no_line, apart], [], [])
    assert chosen(1, is_in_function=False) == ([long, own], [other, far, apart], [no_line])
    assert chosen(4) == ([long, own], [], [])
    seconds[own] = 11.0
    assert chosen(3) == ([long, own], [], [other, far])
    assert chosen(4, module="transformer/model/new.py") == ([], [], [])
