"""Cleaning, counting and tokenizing by shards: the bytes of a plain loop, on any engine."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.compute.workers import clean_and_die_once
from tests.text.plain import clean_plainly, fit_plainly, tokenize_plainly
from tests.text.test_cleaning import config
from transformer.text import cleaning, corpus, shards
from transformer.text.clean_config import AugmentConfig, ScoreConfig
from transformer.text.corpus import Pair, part_path, read_pairs, read_side, write_pairs
from transformer.text.ids import SplitCounts
from transformer.text.tokenizer import TokenizerPair
from transformer.text.tokenizing import write_corpus_ids
from transformer.text.vocab_config import BpeSpec, VocabConfig, WordSpec
from transformer.text.vocabulary import fit_pair

WORDS = [
    "été",
    "Élève",
    "garçon",
    "où",
    "chat.",
    "Déjà",
    "voilà !",
    "l'eau",
    "NASA",
    "我们好",
    "12",
]
NOISE = AugmentConfig(
    lose_accents=0.3, typo=0.3, lose_final_mark=0.2, lowercase=0.1, uppercase=0.1, title_case=0.1
)
VOCAB = VocabConfig(
    joint=None,
    source=BpeSpec(kind="bpe", size=290, min_frequency=1, mark_case=True),
    target=WordSpec(kind="word", boundary="sign", size=99, min_frequency=1),
    max_sentences=None,
)
SETTINGS: dict[str, dict[str, Any]] = {
    "no duplicates": {"num_reject_samples": 3},
    "noise": {"augment": NOISE, "num_reject_samples": 2},
    "sentences": {"single_sentence": True, "augment": NOISE},
    "all kept": {"drop_duplicates": False, "augment": NOISE},
    "scores": {
        "max_repetitions": 1,
        "min_letter_share": 0.2,
        "score": ScoreConfig(command="awk '{print length($0) % 7}'", min_score=2.0),
        "num_reject_samples": 2,
    },
}


def make_pairs(count: int, seed: int) -> list[Pair]:
    """Of every kind: duplicates, leaks, copies, empty ones, several sentences."""
    random = Random(seed)
    return [
        tuple(" ".join(random.choices(WORDS, k=random.randrange(4))) for _ in range(2))  # type: ignore[misc]
        for _ in range(count)
    ]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPUTE_WORKERS", "1")
    monkeypatch.setattr(corpus, "BATCH_PAIRS", 64)
    monkeypatch.setattr(shards, "SHARD_PAIRS", 150)
    for seed, (part, count) in enumerate((("train", 1100), ("valid", 9), ("test", 9))):
        write_pairs(part_path(tmp_path / "raw", part), make_pairs(count, seed))
    assert len(shards.cut_shards(part_path(tmp_path / "raw", "train"))) == 6
    return tmp_path / "raw"


def add_origins(raw: Path) -> None:
    """Of 23 places: more than are told apart; the last three have fewer pairs."""
    path = part_path(raw, "train")
    table = pq.read_table(path)
    names = [f"place{row % 20 if row % 50 else row % 3 + 20}/{row}" for row in range(len(table))]
    field = pa.field("origin", pa.string(), False)
    pq.write_table(table.append_column(field, pa.array(names)), path, row_group_size=64)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", SETTINGS)
def test_shards_are_cleaned_as_by_a_plain_loop(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    settings = config(**SETTINGS[name])
    plain = clean_plainly(settings, raw, tmp_path / "plain")
    report = cleaning.clean_corpus(settings, raw, tmp_path / "clean")
    assert contents(tmp_path / "clean") == contents(tmp_path / "plain")
    assert report == plain
    assert all(report.rejected[reason] for reason in ("empty", "leak", "copy"))
    assert bool(report.rejected["duplicate"]) == settings.drop_duplicates


def test_origins_are_told_apart_as_by_a_plain_loop(raw: Path, tmp_path: Path) -> None:
    add_origins(raw)
    settings = config(**SETTINGS["scores"])
    plain = clean_plainly(settings, raw, tmp_path / "plain")
    report = cleaning.clean_corpus(settings, raw, tmp_path / "clean")
    assert contents(tmp_path / "clean") == contents(tmp_path / "plain")
    assert report == plain
    assert len(report.origins) == 21
    assert report.origins["(others)"].read == 22
    assert all(report.rejected[reason] for reason in ("repetition", "low_score", "duplicate"))


def test_shards_are_counted_and_tokenized_as_by_a_plain_loop(raw: Path, tmp_path: Path) -> None:
    cleaning.clean_corpus(config(), raw, tmp_path / "clean")
    train = part_path(tmp_path / "clean", "train")
    tokenizers = fit_pair(VOCAB, train)
    assert tokenizers.source.json == fit_plainly(VOCAB.source, read_side(train, "source"))
    assert tokenizers.target.json == fit_plainly(VOCAB.target, read_side(train, "target"))
    counts = hold_ids_against_plain_loop(tmp_path / "clean", tmp_path / "ids", tokenizers)
    assert 0 < counts["train"].dropped_too_long < counts["train"].pairs


@pytest.mark.parametrize("size", [1, 7, 400, 1100])
def test_a_vocabulary_is_fitted_on_a_sample_whatever_the_shards(
    raw: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    train = part_path(raw, "train")
    spec = WordSpec(kind="word", boundary="space", size=9999, min_frequency=1)
    config = VocabConfig(joint=None, source=spec, target=spec, max_sentences=size)
    lines = shards.sample_lines(1100, size)
    assert (lines.size, lines[0] >= 1, lines[-1] <= 1100) == (size, True, True)
    assert (np.diff(lines) > 0).all()
    found = fit_pair(config, train)
    sources = list(read_side(train, "source"))
    assert found.source.json == fit_plainly(spec, [sources[line - 1] for line in lines])
    monkeypatch.setattr(shards, "SHARD_PAIRS", 400)
    assert fit_pair(config, train).sha256 == found.sha256
    everything = fit_pair(config.model_copy(update={"max_sentences": None}), train)
    assert (everything.sha256 == found.sha256) == (size == 1100)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_processes_give_the_same_bytes_where_one_is_killed(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("COMPUTE_WORKERS", str(workers))
    hold_against_plain_loops(raw, tmp_path, monkeypatch)


@pytest.mark.slow
def test_ray_gives_the_same_bytes_where_a_worker_is_killed(
    cluster: Any, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTE_ENGINE", "ray")
    monkeypatch.delenv("COMPUTE_WORKERS")
    hold_against_plain_loops(raw, tmp_path, monkeypatch)


def hold_against_plain_loops(raw: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleans with a worker killed on the way, fits, tokenizes: all bytes are those of loops."""
    add_origins(raw)
    settings = config(**SETTINGS["noise"] | SETTINGS["scores"])
    clean_plainly(settings, raw, folder / "plain")
    monkeypatch.setattr(cleaning, "clean_shard", partial(clean_and_die_once, folder / "killed"))
    cleaning.clean_corpus(settings, raw, folder / "clean")
    assert (folder / "killed").exists()
    assert contents(folder / "clean") == contents(folder / "plain")
    train = part_path(folder / "clean", "train")
    tokenizers = fit_pair(VOCAB, train)
    assert tokenizers.source.json == fit_plainly(VOCAB.source, read_side(train, "source"))
    hold_ids_against_plain_loop(folder / "clean", folder / "ids", tokenizers)


def hold_ids_against_plain_loop(
    clean: Path, folder: Path, tokenizers: TokenizerPair
) -> Mapping[str, SplitCounts]:
    folder.mkdir()
    meta = write_corpus_ids(clean, folder, tokenizers, 9)
    pairs = {split: list(read_pairs(part_path(clean, split))) for split in ("train", "valid")}
    found = contents(folder)
    del found["meta.json"]
    assert found == tokenize_plainly(pairs, tokenizers, 9)
    return meta.counts


def test_a_missing_value_is_told_by_its_line(raw: Path, tmp_path: Path) -> None:
    path = part_path(raw, "train")
    table = pq.read_table(path)
    targets = table["target"].to_pylist()
    targets[700] = None
    fields = [pa.field(name, pa.string()) for name in table.column_names]
    damaged = pa.table([table["source"], pa.array(targets)], pa.schema(fields))
    pq.write_table(damaged, path, row_group_size=64)
    with pytest.raises(ValueError, match=r"train\.parquet, lines 577 to 768: line 701: no target"):
        cleaning.clean_corpus(config(), raw, tmp_path / "clean")
    assert not (tmp_path / "clean").exists()
