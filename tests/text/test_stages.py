"""The four text stages, one after the other, on a corpus of a few lines."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.stages.clean import clean
from pipeline.stages.download import download
from pipeline.stages.synthesize import synthesize
from pipeline.stages.tokenize import tokenize
from pipeline.stages.vocab import vocab
from transformer.config import ConfigError
from transformer.text.corpus import read_pairs
from transformer.text.ids import load_ids
from transformer.text.tokenizer import TokenizerPair

PARAMS = """
corpus:
  kind: tabular
  name: tiny
  source_language: fr
  target_language: en
  license: CC BY 2.0
  path: fra.tsv
  url: null
  sha256: null
  member: null
  source_column: 2
  target_column: 1
  origin_column: null
  split: {valid_pairs: 4, test_pairs: 4, seed: 1, origin_pattern: null}
synthesize: {kind: none}
clean:
  source: {lowercase: false, strip_punctuation: false, fold_typography: false}
  target: {lowercase: false, strip_punctuation: false, fold_typography: false}
  single_sentence: false
  length_unit: word
  max_length: 10
  max_length_ratio: 5
  drop_copies: true
  drop_leaks: true
  min_letter_share: null
  max_word_length: null
  max_repetitions: null
  min_digit_overlap: null
  drop_different_placeholders: false
  min_language_probability: null
  score: null
  drop_duplicates: true
  augment: null
  num_reject_samples: 5
  seed: 1
vocab:
  joint: {kind: bpe, size: 300, min_frequency: 2, mark_case: false}
  source: null
  target: null
  max_sentences: null
tokenize: {max_tokens: 20}
"""
STAGES = (download, synthesize, clean, vocab, tokenize)
OUTPUTS = ("data/raw", "data/clean", "data/ids", "models/tokenizer", "reports")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text(PARAMS)
    lines = [f"I see {n} cats.\tJe vois {n} chats.\tCC-BY\n" for n in range(30)]
    (tmp_path / "fra.tsv").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for out in OUTPUTS for path in (folder / out).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_from_a_table_to_ids_the_same_each_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for stage in STAGES:
        stage()
    assert "train: 22 pairs kept of 22" in capsys.readouterr().out
    first = contents(folder)
    for stage in STAGES:
        stage()
    assert contents(folder) == first
    assert str(folder).encode() not in b"".join(first.values())

    ids = load_ids(folder / "data/ids")
    tokenizers = TokenizerPair.load(folder / "models/tokenizer")
    assert len(ids.train) == len(list(read_pairs(folder / "data/clean/train.parquet"))) == 22
    assert tokenizers.source.decode(ids.train.source(0).tolist()).startswith("Je vois ")
    reports = {path.name: path for path in (folder / "reports").glob("*.json")}
    assert sorted(reports) == ["clean.json", "synthesize.json", "tokenize.json", "vocab.json"]
    assert json.loads(reports["vocab.json"].read_text())["target"]["size"] == tokenizers.target.size


def test_a_change_of_vocabulary_leaves_no_old_file(folder: Path) -> None:
    for stage in STAGES[:4]:
        stage()
    word = "{kind: word, boundary: sign, size: 50, min_frequency: 1}"
    text = PARAMS.replace("{kind: bpe, size: 300, min_frequency: 2, mark_case: false}", "null")
    text = text.replace("source: null\n  target: null", f"source: {word}\n  target: {word}")
    (folder / "params.yaml").write_text(text)
    vocab()
    names = sorted(path.name for path in (folder / "models/tokenizer").iterdir())
    assert names == ["meta.json", "source.json", "target.json"]


@pytest.mark.parametrize(
    ("file", "stage"),
    [
        ("data/raw/train.parquet", clean),
        ("data/clean/train.parquet", vocab),
        ("data/clean/valid.parquet", tokenize),
    ],
)
def test_a_flipped_bit_stops_the_stage_that_reads_it(
    folder: Path, file: str, stage: Callable[[], None]
) -> None:
    for earlier in STAGES:
        earlier()
    before = contents(folder)
    damaged = bytearray(before[file])
    damaged[100] ^= 4
    (folder / file).write_bytes(damaged)
    with pytest.raises(ValueError, match=f"{file} is damaged, or was edited"):
        stage()
    assert contents(folder) == before | {file: bytes(damaged)}


def test_wrong_params_are_told_before_anything_runs(folder: Path) -> None:
    (folder / "params.yaml").write_text(PARAMS.replace("max_tokens: 20", "max_tokens: 1"))
    with pytest.raises(ConfigError, match=r"tokenize\.max_tokens = 1"):
        tokenize()


def test_stages_import_nothing_heavy_until_they_run() -> None:
    code = (
        "import sys, pipeline.stages.download, pipeline.stages.clean\n"
        "import pipeline.stages.vocab, pipeline.stages.tokenize\n"
        "print(sorted({'pyarrow', 'numpy', 'tokenizers', 'datasets', 'torch', 'pydantic'}"
        " & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_what_serving_shares_needs_only_tokenizers() -> None:
    code = (
        "import sys, transformer.text.tokenizer, transformer.text.normalize\n"
        "import transformer.text.sentences\n"
        "print(sorted({'pyarrow', 'datasets', 'torch', 'pydantic'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
