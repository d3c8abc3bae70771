"""A forecast of stages is what DVC then does."""

import subprocess
import sys

import pytest

from pipeline.experiments.forecast import Project, forecast_stages
from pipeline.params import read_params

STAGES = """
stages:
  first:
    cmd: cp ${source.path} one
    deps:
    - ${source.path}
    params:
    - source
    outs:
    - one
  second:
    cmd: mkdir two && cp one two
    deps:
    - one
    - code
    params:
    - letters
    outs:
    - two
    metrics:
    - figures.json:
        cache: false
"""


def dvc(*arguments: str) -> str:
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two stages that have run, with the letter a and then with b."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        dvc("init", "--no-scm")
        (folder / "dvc.yaml").write_text(
            STAGES.replace("cp one two", "cp one two && cp params.yaml figures.json")
        )
        (folder / ".dvcignore").write_text("__pycache__\n")
        (folder / "code").mkdir()
        (folder / "code/one.py").write_text("pass\n")
        (folder / "text").write_text("a\n")
        for letter in ("a", "b"):
            (folder / "params.yaml").write_text(f"source: {{path: text}}\nletters: [{letter}]\n")
            dvc("repro")
    return folder


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    # What `dvc cache dir` prints, without the second that it takes.
    monkeypatch.setattr("pipeline.experiments.forecast.run_dvc", lambda *_: ".dvc/cache\n")


def forecast(**changes) -> list[tuple[str, tuple[str, ...]]]:
    params = read_params() | changes
    return [(one.status.value, one.reasons) for one in forecast_stages(Project(), params)]


UNCHANGED = ("unchanged", ())


def test_what_is_as_it_was_is_unchanged(folder):
    (folder / "code/__pycache__").mkdir(exist_ok=True)
    (folder / "code/__pycache__/one.pyc").write_text("")
    assert forecast() == [UNCHANGED, UNCHANGED]


def test_other_params_run_a_stage(folder):
    assert forecast(letters=["c"]) == [UNCHANGED, ("runs", ("letters",))]


def test_what_ran_before_comes_from_the_cache(folder):
    assert forecast(letters=["a"]) == [UNCHANGED, ("restored", ("letters",))]


def test_what_comes_after_a_stage_that_runs_may_run(folder):
    first, second = forecast(source={"path": "text", "note": "another"})
    assert first == ("runs", ("source.note",))
    assert second == ("may run", ("one",))


def test_a_path_in_the_params_is_an_input(folder):
    (folder / "other").write_text("b\n")
    other = ("its entry in dvc.yaml", "other", "source.path")
    assert forecast(source={"path": "other"})[0] == ("runs", other)
    away = ("its entry in dvc.yaml", "away is missing", "source.path")
    assert forecast(source={"path": "away"})[0] == ("runs", away)


def test_edited_code_runs_what_depends_on_it(folder):
    (folder / "code/one.py").write_text("print()\n")
    assert forecast() == [UNCHANGED, ("runs", ("code",))]
    assert "Running stage 'second'" in dvc("repro", "--dry")
    (folder / "code/one.py").write_text("pass\n")


@pytest.mark.parametrize("state", ["deleted", "modified"])
def test_a_lost_output_is_restored_from_the_cache(folder, state):
    text = (folder / "one").read_text()
    if state == "deleted":
        (folder / "one").unlink()
    else:
        (folder / "one").write_text("else")
    assert forecast() == [("restored", (f"one is {state}",)), UNCHANGED]
    (folder / "one").write_text(text)


def test_a_lost_output_without_a_cache_takes_a_run(folder):
    (folder / ".dvc/cache").rename(folder / ".dvc/away")
    assert forecast()[0] == ("runs", ("one is not in cache",))
    (folder / ".dvc/away").rename(folder / ".dvc/cache")


def test_a_stage_that_never_ran_is_told(folder):
    lock = folder / "dvc.lock"
    text = lock.read_text()
    lock.unlink()
    (folder / "text").write_text("unseen")
    assert forecast()[0] == ("runs", ("it is not in dvc.lock yet",))
    (folder / "text").write_text("a\n")
    lock.write_text(text)
