"""The table of experiments of all commits."""

import json
import subprocess
from pathlib import Path

import pytest

from pipeline.experiments.overview import Experiment, list_scored
from pipeline.experiments.overview_report import describe_experiments
from pipeline.recipes import make_params

LOCK = """\
schema: '2.0'
stages:
  evaluate:
    deps:
    - path: data/raw
      hash: md5
      md5: {raw}.dir
  export:
    outs:
    - path: models/translator
      hash: md5
      md5: {translator}.dir
"""


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def put(bleu: float, translator: str = "a", raw: str = "1" * 32, **changes: object) -> None:
    """The files of a project whose model was scored."""
    options = [f"{key.replace('__', '.')}={value}" for key, value in changes.items()]
    Path("params.yaml").write_text(make_params("phrasebook", options))
    Path("reports/metrics").mkdir(parents=True, exist_ok=True)
    scores = {"bleu": bleu, "bleu_margin": 1.5, "chrf": 80.0}
    Path("reports/metrics/evaluate.json").write_text(json.dumps(scores))
    Path("dvc.lock").write_text(LOCK.format(raw=raw, translator=translator))


def commit() -> str:
    git("add", "--all")
    git("commit", "--quiet", "--message", "made")
    return git("rev-parse", "HEAD")


def keep_experiment(name: str, baseline: str) -> None:
    """As DVC keeps one: a commit that no branch has."""
    git("update-ref", f"refs/exps/{baseline[:2]}/{baseline[2:]}/{name}", commit())
    git("reset", "--quiet", "--hard", baseline)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A commit on `main`, an experiment of it, and a commit after both."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    git("config", "user.email", "test@example.org")
    git("config", "user.name", "Test")
    put(30.0)
    first = commit()
    put(32.5, "b", train__learning_rate=0.002)
    keep_experiment("half-rate", first)
    put(31.0, "c", search__beam_size=1)
    commit()
    return first


def test_experiments_of_all_commits_are_listed_the_best_first(repository):
    found = list_scored()
    assert [one.name for one in found] == ["half-rate", "main", repository[:7]]
    assert [one.baseline == repository for one in found] == [True, False, True]
    assert [one.translator for one in found] == ["b.dir", "c.dir", "a.dir"]
    assert found[0].params["train.learning_rate"] == 0.002


def test_an_edited_workspace_is_listed_too(repository):
    put(40.0)
    assert [one.name for one in list_scored()][:2] == ["workspace", "half-rate"]


def test_test_sets_are_told_apart_by_the_listing_in_dvcs_cache(repository):
    def keep_listing(raw: str, test: str) -> None:
        path = Path(".dvc/cache/files/md5", raw[:2], f"{raw[2:]}.dir")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([{"md5": test, "relpath": "test.parquet"}]))

    corpora = "2" * 32, "3" * 32  # of other training pairs
    for raw in corpora:
        put(20.0, raw=raw)
        keep_experiment(f"exp-{raw[0]}", git("rev-parse", "HEAD"))
    for raw in corpora:
        keep_listing(raw, "the test set")
    sets = {one.name: one.test_set for one in list_scored()}
    assert sets["exp-2"] == sets["exp-3"] == "the test set"
    assert sets["main"] == f"{'1' * 32}.dir"


def make(
    name: str, bleu: float, test_set: str = "t", sample: int | None = None, **params: object
) -> Experiment:
    values = {"corpus.name": "toy", "search.beam_size": 4, "train.seed": 1} | {
        key.replace("__", "."): value for key, value in params.items()
    }
    figures = {"bleu": bleu, "bleu_margin": 1.25, "int8_bleu": bleu - 0.2}
    return Experiment(name, "0" * 40, figures, sample, values, test_set, f"{name}.dir")


def test_score_margin_beam_and_what_differs_stand_in_a_row():
    found = [make("better", 31.0, train__seed=2, search__beam_size=1), make("main", 30.0)]
    lines = describe_experiments(found, "main", "better.dir", None).split("\n")
    assert lines[0].split() == ["name", "BLEU", "int8", "beam", "differs", "from", "main"]
    assert " ".join(lines[1].split()) == "better * 31.00 ± 1.25 30.80 1 train.seed 2"
    assert lines[2].split() == ["main", "30.00", "±", "1.25", "29.80", "4"]
    assert lines[-1] == "* the champion"


@pytest.mark.parametrize("width", [100, 120, 160, None])
def test_nothing_is_cut_at_any_width(width):
    long = {f"train__a_rather_long_name_{n}": n for n in range(9)}
    name = "learning_rate=0.002-a_rather_long_name_of_a_param=0.1-a1b2c3"
    found = [make(name, 31.0, **long), make("main", 30.0)]
    text = describe_experiments(found, "main", None, width)
    letters = "".join(text.split())
    assert all(key.replace("train__", "") in letters for key in long)
    assert "\x1b" not in text
    if width is None:
        assert len(text.split("\n")) == 3
        assert name in text
    else:
        assert max(map(len, text.split("\n"))) <= width


def test_scores_on_two_test_sets_stand_in_two_tables():
    found = [
        make("other", 90.0, test_set="u"),
        make("quick", 50.0, sample=200),
        make("main", 30.0),
    ]
    parts = describe_experiments(found, "main", None, 100).split("\n\n")
    assert parts[0::2] == [
        "scored on test set t of toy",
        "scored on 200 sentences of the test set t of toy",
        "scored on test set u of toy",
    ]
    names = [table.split("\n")[1].split()[0] for table in parts[1::2]]
    assert names == ["main", "quick", "other"]
