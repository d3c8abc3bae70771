"""Cleaning: nothing lost in silence, nothing from validation or test at all."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.plain import FOR_NOISE
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.cleaning import CleanReport, clean_corpus, clean_pair
from transformer.text.corpus import Pair, part_path, read_pairs, write_pairs
from transformer.text.filters import REASONS, make_filters

AS_IS = NormalizationConfig(lowercase=False, strip_punctuation=False, fold_typography=False)
BARE = NormalizationConfig(lowercase=True, strip_punctuation=True, fold_typography=False)
TRAIN = [
    ("Va\u202f!", "Go."),
    ("Salut !", "Hi."),
    ("", "Nothing."),
    ("Salut !\u00a0", "Hi. "),
    ("Un chat.", "A cat."),
    ("Tom", "Tom"),
    ("Je viens. Je vois.", "I come. I see."),
    ("Je viens. Je vois.", "I come, I see."),
    ("Il pleut depuis hier soir sans arrêt.", "Rain."),
]
VALID = [("Un chat.", "The cat."), ("\u200b", "Empty source.")]
TEST = [("Même texte", "Même texte"), ("Même texte", "Même texte"), ("a " * 300, "b")]


def config(**changes: Any) -> CleanConfig:
    values: dict[str, Any] = {
        "source": AS_IS,
        "target": AS_IS,
        "single_sentence": False,
        "length_unit": "word",
        "max_length": 50,
        "max_length_ratio": 4.0,
        "drop_copies": True,
        "drop_leaks": True,
        **FOR_NOISE,
        "drop_duplicates": True,
        "augment": None,
        "num_reject_samples": 10,
        "seed": 0,
    }
    return CleanConfig(**values | changes)


def run(folder: Path, settings: CleanConfig, train: list[Pair] | None = None) -> CleanReport:
    parts = {"train": TRAIN if train is None else train, "valid": VALID, "test": TEST}
    for part, pairs in parts.items():
        write_pairs(part_path(folder / "raw", part), pairs)
    return clean_corpus(settings, folder / "raw", folder / "clean")


def read(folder: Path, part: str) -> list[Pair]:
    return list(read_pairs(part_path(folder / "clean", part)))


def rejects(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "clean" / "rejects.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def test_every_rejected_pair_has_one_reason(tmp_path: Path) -> None:
    report = run(tmp_path, config())
    assert read(tmp_path, "train") == [
        ("Va !", "Go."),
        ("Salut !", "Hi."),
        ("Je viens. Je vois.", "I come. I see."),
        ("Je viens. Je vois.", "I come, I see."),
    ]
    assert list(report.rejected) == list(REASONS)
    assert {reason: count for reason, count in report.rejected.items() if count} == {
        "empty": 1,
        "length_ratio": 1,
        "copy": 1,
        "leak": 1,
        "duplicate": 1,
    }
    assert report.read == report.candidates == report.kept + sum(report.rejected.values())


def test_validation_and_test_keep_every_pair_in_its_place(tmp_path: Path) -> None:
    report = run(tmp_path, config(source=BARE, target=BARE, single_sentence=True, max_length=1))
    assert read(tmp_path, "valid") == [("un chat", "the cat"), ("", "empty source")]
    assert read(tmp_path, "test")[:2] == [("même texte", "même texte")] * 2
    assert (report.valid, report.test) == (len(VALID), len(TEST))


def test_single_sentences_are_cut_before_punctuation_goes(tmp_path: Path) -> None:
    report = run(tmp_path, config(source=BARE, target=BARE, single_sentence=True))
    assert read(tmp_path, "train")[2:] == [("je viens", "i come"), ("je vois", "i see")]
    assert report.rejected["sentence_count"] == 1
    assert report.candidates == report.read + 1


def test_only_a_pair_that_was_kept_makes_a_duplicate(tmp_path: Path) -> None:
    train = [("a", "x"), ("a", "a"), ("a", "c"), ("a", "a"), ("c", "x"), ("a", "x"), (" a", "x")]
    report = run(tmp_path, config(), train)
    assert read(tmp_path, "train") == [("a", "x"), ("a", "c"), ("c", "x")]
    assert (report.rejected["duplicate"], report.rejected["copy"]) == (2, 2)
    assert [r["line"] for r in rejects(tmp_path) if r["reason"] == "duplicate"] == [6, 7]
    run(tmp_path, config(drop_duplicates=False), train)
    assert len(read(tmp_path, "train")) == 5


def test_rejects_show_the_pair_as_it_came_with_its_line(tmp_path: Path) -> None:
    run(tmp_path, config())
    found = rejects(tmp_path)
    assert {"line": 4, "reason": "duplicate", "source": "Salut !\u00a0", "target": "Hi. "} in found
    assert [reject["line"] for reject in found] == [3, 4, 5, 6, 9]


def test_the_sample_is_drawn_per_reason_by_the_seed(tmp_path: Path) -> None:
    train = [(f"a{n}", "") for n in range(100)] + [("x", "x"), ("keep", "me")]
    samples = []
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        run(tmp_path / name, config(num_reject_samples=5, seed=seed), train)
        samples.append(rejects(tmp_path / name))
    assert Counter(reject["reason"] for reject in samples[0]) == {"empty": 5, "copy": 1}
    assert samples[0] == samples[1]
    assert samples[0] != samples[2]


def test_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        report = run(tmp_path / name, config())
        report.write(tmp_path / name / "clean" / "report.json")
        report.write_reasons(tmp_path / name / "clean" / "reasons.csv")
    for path in (tmp_path / "a" / "clean").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "clean" / path.name).read_bytes()


def test_the_table_of_reasons_has_a_row_for_each(tmp_path: Path) -> None:
    run(tmp_path, config()).write_reasons(tmp_path / "reasons.csv")
    rows = [line.split(",") for line in (tmp_path / "reasons.csv").read_text().split()]
    assert rows[0] == ["reason", "count"]
    assert [row[0] for row in rows[1:]] == list(REASONS)


def test_a_corpus_of_which_nothing_is_left_is_told(tmp_path: Path) -> None:
    run(tmp_path, config())
    before = read(tmp_path, "train")
    with pytest.raises(
        ValueError, match=r"left none of 2 training pairs \(reasons: empty 1, copy 1\)"
    ):
        run(tmp_path, config(), [("", "a"), ("b", "b")])
    assert read(tmp_path, "train") == before


def test_a_missing_part_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"train\.parquet: no such file"):
        clean_corpus(config(), tmp_path / "raw", tmp_path / "clean")
    assert list(tmp_path.iterdir()) == []


SIDE = st.text(st.sampled_from("aB.! \u00a0"), max_size=12)


@given(SIDE, SIDE, st.booleans())
def test_a_pair_is_never_lost(source: str, target: str, single_sentence: bool) -> None:
    settings = config(single_sentence=single_sentence)
    outcomes = list(clean_pair((source, target), settings, make_filters(settings, [])))
    assert outcomes
    for _, cleaned, reason in outcomes:
        assert reason in (None, *REASONS)
        assert reason is not None or all(cleaned)
