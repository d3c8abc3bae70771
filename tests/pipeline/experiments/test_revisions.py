"""What a name of a commit or an experiment stands for."""

import subprocess

import pytest

from pipeline.experiments.results import ResultsError
from pipeline.experiments.revisions import resolve_revision


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.email=a@b", "-c", "user.name=n", *arguments]
    return subprocess.check_output(command, text=True).strip()


def commit(message: str) -> str:
    git("commit", "--quiet", "--allow-empty", "--message", message)
    return git("rev-parse", "HEAD")


def add_experiment(name: str, baseline: str, message: str) -> str:
    tree = git("rev-parse", "HEAD^{tree}")
    made = git("commit-tree", tree, "-p", baseline, "-m", message)
    git("update-ref", f"refs/exps/{baseline[:2]}/{baseline[2:]}/{name}", made)
    return made


@pytest.fixture(autouse=True)
def _repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")


def test_commits_branches_and_experiments_are_told_apart():
    first = commit("first")
    made = add_experiment("sunny-day", first, "made")
    git("update-ref", "refs/exps/exec/EXEC_HEAD", first)
    for name in ("main", "HEAD", first[:8], first):
        assert resolve_revision(name) == (first, f"commit {first[:7]}")
    assert resolve_revision("sunny-day") == (made, f"experiment {made[:7]}")
    assert resolve_revision(made[:9]) == (made, f"experiment sunny-day {made[:7]}")
    assert resolve_revision("nowhere")[0] == ""


def test_of_experiments_with_one_name_that_of_the_last_commit_is_meant():
    baselines = [commit("first"), commit("second")]
    made = [add_experiment("sunny-day", one, one) for one in baselines]
    assert resolve_revision("sunny-day")[0] == made[1]
    commit("third")
    with pytest.raises(ResultsError, match="several commits have an experiment of this name"):
        resolve_revision("sunny-day")


def test_outside_git_nothing_has_a_name(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "away"))
    assert resolve_revision("main")[0] == ""
