"""Which code a run belongs to."""

import subprocess
from pathlib import Path

import pytest

from pipeline.tracking.provenance import provenance_tags


@pytest.fixture
def repository(folder):
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.email=a@b", "-c", "user.name=n", *arguments]
        return subprocess.check_output(command, text=True).strip()

    git("init", "--quiet")
    git("config", "user.name", "Ada")
    for name in ("dvc.lock", "code.py", "reports/train.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("before")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    return git


@pytest.mark.parametrize(
    ("changed", "experiment", "dirty"),
    [
        (None, False, "false"),
        ("dvc.lock", False, "false"),
        ("reports/train.json", False, "false"),
        ("code.py", False, "true"),
        ("new.py", False, "true"),
        ("params.yaml", False, "true"),
        ("params.yaml", True, "false"),
        ("code.py", True, "true"),
    ],
)
def test_what_differs_from_the_commit_is_told_results_aside(
    repository, monkeypatch, changed, experiment, dirty
):
    if changed is not None:
        Path(changed).write_text("after")
    if experiment:
        monkeypatch.setenv("DVC_EXP_NAME", "sunny-day")
        monkeypatch.setenv("DVC_EXP_BASELINE_REV", "f" * 40)
    tags = provenance_tags()
    assert tags["git_commit"] == repository("rev-parse", "HEAD")
    assert tags["mlflow.user"] == "Ada"
    assert tags["git_dirty"] == dirty
    assert tags.get("dvc_exp_name") == ("sunny-day" if experiment else None)
    assert tags.get("dvc_exp_baseline_rev") == ("f" * 40 if experiment else None)


def test_outside_git_the_versions_are_told_all_the_same(folder):
    tags = provenance_tags()
    assert "git_commit" not in tags
    assert {"version.torch", "version.onnxruntime", "version.python"} <= tags.keys()
