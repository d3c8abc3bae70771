"""`check` foretells what a corpus of files will come to."""

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.corpus_check import check_corpus, find_unknown_files, list_inputs
from pipeline.params import load_sections
from pipeline.recipes import load_recipe, make_params
from transformer.text.corpus_config import CorpusConfig
from transformer.text.vocab_config import VocabConfig
from transformer.training.config import TrainConfig


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Writes so many pairs and the recipe for them; returns what `check` says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def run(num_pairs: int, *changes: str) -> tuple[int, str]:
        from pipeline.__main__ import app

        folder = tmp_path / "data/sources/mine"
        folder.mkdir(parents=True, exist_ok=True)
        for name, word in (("source", "Satz"), ("target", "sentence")):
            lines = [f"{word} number {n} .\n" for n in range(num_pairs)]
            (folder / f"{name}.txt").write_text("".join(lines))
        Path("params.yaml").write_text(make_params("small-corpus", list(changes)))
        done = CliRunner().invoke(app, ["check"])
        return done.exit_code, done.output + str(done.exception or "")

    return run


def test_pairs_steps_and_vocabulary_are_told(check):
    code, told = check(200)
    assert code == 0
    assert "data/sources/mine: 200 pairs: 140 for training, 20 valid, 40 test" in told
    assert "training: about 2 steps in an epoch, 400 in all, 50 of warm-up" in told
    assert "params.yaml is right" in told


@pytest.mark.parametrize(
    ("num_pairs", "change", "message"),
    [
        (200, "corpus.split.test_pairs=2000", r"200 pairs can't give valid 20 \+ test 2000"),
        (200, "train.max_epochs=20", r"warmup_steps = 50: the training has about 40 steps"),
    ],
)
def test_what_would_stop_a_later_stage_is_refused(check, num_pairs, change, message):
    code, told = check(num_pairs, change)
    assert code == 1
    assert message.replace("\\", "") in told


def test_all_problems_are_told_at_once(check):
    _, told = check(200, "corpus.split.test_pairs=2000", "train.max_epochs=20")
    assert "2 problems" in told


def test_a_vocabulary_larger_than_the_text_gives_is_told(check):
    words = "{kind: word, boundary: space, size: 900, min_frequency: 1}"
    _, told = check(100, f"vocab.joint={words}")
    # 40 sentences: as many numbers, "Satz", "sentence", "number", the full stop, 4 special tokens.
    assert "vocab.joint.size = 900: this text gives 48 at most" in told


def test_steps_are_counted_as_training_counts_them(check):
    _, told = check(200, "train.batch_tokens=null", "train.batch_sentences=14")
    assert "about 10 steps in an epoch" in told


def test_steps_count_the_weights_of_parts(check):
    part = "kind: text, license: mine, path: mine, train: {source: source.txt, target: target.txt}"
    parts = f"{{many: {{{part}, valid: null, test: null, weight: 4}}}}"
    split = "{valid_pairs: 20, test_pairs: 40, seed: 1, origin_pattern: null}"
    corpus = (
        "{kind: mixed, name: m, source_language: de, target_language: en, path: data/sources, "
        f"parts: {parts}, split: {split}}}"
    )
    code, told = check(
        200, f"corpus={corpus}", "train.batch_tokens=null", "train.batch_sentences=14"
    )
    assert code == 0, told
    assert "about 40 steps in an epoch" in told


def test_steps_are_none_too_few_where_more_pairs_are_made(check):
    check(200, "train.max_epochs=20")
    sections = ("corpus", CorpusConfig), ("vocab", VocabConfig), ("train", TrainConfig)
    found = check_corpus(*load_sections(*sections), is_all=False)
    assert found.facts[-1].endswith("of the corpus alone: what `synthesize` makes is not counted")
    assert not found.problems


def test_files_that_are_not_there_are_named(check):
    code, told = check(200, "corpus.train.target=target.en")
    assert code == 1
    assert "data/sources/mine/target.en" in told


def test_text_that_neither_git_nor_dvc_knows_is_told(check):
    def git(*arguments: str) -> None:
        identity = ["-c", "user.email=a@b", "-c", "user.name=a"]
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    check(100)
    folder = Path("data/sources/mine")
    assert find_unknown_files([folder]) is None  # no repository
    git("init", "--quiet")
    git("commit", "--allow-empty", "-m", "first")
    told = find_unknown_files([folder])
    assert told is not None
    assert "`dvc add data/sources/mine`, `git add data/sources/mine.dvc`" in told
    code, printed = check(100)
    assert code == 0  # `dvc repro` works all the same
    assert told in printed
    Path("data/sources/mine.dvc").write_text("outs: []\n")
    git("add", "data/sources/mine.dvc")
    assert find_unknown_files([folder]) is None
    git("rm", "--cached", "data/sources/mine.dvc")
    git("add", "data/sources/mine")
    assert find_unknown_files([folder]) is None
    (folder / "données.txt").write_text("plus\n")
    git("add", "data/sources/mine")
    assert find_unknown_files([folder]) is None
    (folder / "more.txt").write_text("more\n")
    told = find_unknown_files([folder])
    assert told is not None
    assert "`dvc add data/sources/mine/more.txt`" in told
    (folder / "last.txt").write_text("last\n")
    told = find_unknown_files([folder, folder / "last.txt"])
    assert told is not None
    assert "`dvc add data/sources/mine/last.txt data/sources/mine/more.txt`" in told


def test_all_that_the_params_name_is_an_input():
    from pipeline.paths import IMPORTED, MONOLINGUAL, SETS, TEACHER

    params = load_recipe("phrasebook")
    assert list_inputs(params) == [Path("data/phrasebook")]
    params["synthesize"] = {"kind": "back_translation", "text": "news.en"}
    params["pretrain"] = {"kind": "imported"}
    params["evaluate"]["sets"] = {"mine": {"kind": "files", "source": "a", "target": "b"}}
    params["vocab"]["joint"] = {"kind": "pretrained", "name": "mine/tokenizer.json"}
    named = [TEACHER, IMPORTED, MONOLINGUAL / "news.en", SETS / "a", SETS / "b"]
    named.append(Path("mine/tokenizer.json"))
    assert list_inputs(params) == [Path("data/phrasebook"), *named]
