"""What a name of a commit or an experiment stands for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.experiments.results import ResultsError
from pipeline.experiments.revisions import read_revision, resolve_revision
from pipeline.recipes import make_params
from tests.pipeline.experiments.test_comparison import WORSE, make
from transformer.evaluation.tables import write_translations
from transformer.files import write_json


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


def evaluate(sets: dict[str, list[str]]) -> None:
    """Leaves what the stage leaves: of the test set, and of each further set."""
    results = make("made", WORSE)
    values = dict(results.figures) | {"signatures": {"bleu": results.bleu_signature}}
    folder = Path("reports/sets")
    folder.mkdir(parents=True, exist_ok=True)
    for path, texts in [
        (folder.parent / "translations.csv", WORSE),
        *((folder / f"{name}.csv", texts) for name, texts in sets.items()),
    ]:
        write_translations(
            path, sources=texts, references=texts, translations=texts, scores=[-1.0] * len(texts),
            sentence_chrf=[50.0] * len(texts),
        )  # fmt: skip
    values["sets"] = {name: {"sha256": "ab" * 32, "bleu": 1.0} for name in sets}
    write_json(folder.parent / "evaluate.json", values)


def test_further_sets_are_those_of_the_revision():
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], check=True)
    Path("params.yaml").write_text(make_params("phrasebook", []))
    outs = {"outs": ["reports/translations.csv", "reports/sets", "reports/evaluate.json"]}
    YAML().dump({"stages": {"evaluate": {"cmd": "true"} | outs}}, Path("dvc.yaml"))
    evaluate({"typos": ["first"]})
    # Which puts them into its cache, and their digests into dvc.lock.
    subprocess.run([sys.executable, "-m", "dvc", "commit", "--force", "--quiet"], check=True)
    git("add", ".")
    first = commit("first")
    shutil.rmtree("reports")
    evaluate({"typos": ["second"], "mine": ["mine"]})

    def read(name: str) -> dict[str, str]:
        found = read_revision(name)
        return {name: one.translations[0].text for name, one in found.sets.items()}

    assert read(first) == {"typos": "first"}
    assert read("workspace") == {"typos": "second", "mine": "mine"}
    shutil.rmtree(".dvc/cache")
    Path("reports/sets/mine.csv").unlink()
    with pytest.raises(ResultsError, match=r"neither in DVC's cache nor in a remote"):
        read("workspace")
