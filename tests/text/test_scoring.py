"""Scores from a command of the user's: kept as a column, or a message that says what is wrong."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.text.test_cleaning import config, rejects, run
from transformer.text.clean_config import ScoreConfig
from transformer.text.corpus import Pair, part_path
from transformer.text.scoring import score_pairs

PAIRS = [("un\tchat", "a cat"), ("deux\nchiens ", "two dogs"), ("été", "summer")]
# The length of the target.
LENGTHS = r"awk -F '\t' '{print length($2) / 2}'"


def test_the_command_reads_a_line_for_each_pair(tmp_path: Path) -> None:
    command = f"tee {tmp_path / 'read.tsv'} | {LENGTHS}"
    assert score_pairs(command, PAIRS, [1, 2, 3]) == [2.5, 4, 3]
    read = (tmp_path / "read.tsv").read_text(encoding="utf-8")
    assert read == "un chat\ta cat\ndeux chiens\ttwo dogs\nété\tsummer\n"
    assert score_pairs("false", [], []) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo 'no model' >&2; exit 3", r"ended with status 3 \(no model\)"),
        ("exit 3", r"status 3 \(it said nothing\)"),
        ("no-such-program", r"status 127 \(.*not found"),
        ("echo 1; echo 2", r"wrote 2 lines for 3 that it read, none for line 9"),
        ("true", r"line 5: clean.score.command wrote ''; it has to write a number"),
        ("yes 1 | head -4", r"wrote 4 lines for 3 that it read; it has to"),
        ("echo 1; echo good; echo 2", r"line 7: clean.score.command wrote 'good'; it has to write"),
        ("echo 1; echo 2; echo nan", r"line 9: clean.score.command wrote 'nan'"),
        ("head -c 9 /dev/zero", r"line 5: clean.score.command wrote '\\x00"),
    ],
)
def test_what_is_wrong_with_it_is_told(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_pairs(command, PAIRS, [5, 7, 9])


TRAIN: list[Pair] = [
    ("court", "ab"),
    ("moyen", "abcdef"),
    ("", "abcdefgh"),
    ("long", "abcdefghij"),
    ("moyen", "abcdef"),
]


@pytest.mark.parametrize("least", [None, 3.0])
def test_scores_are_a_column_and_low_ones_a_reason(tmp_path: Path, least: float | None) -> None:
    report = run(tmp_path, config(score=ScoreConfig(command=LENGTHS, min_score=least)), TRAIN)
    table = pq.read_table(part_path(tmp_path / "clean", "train"))
    kept = [("court", 1), ("moyen", 3), ("long", 5)][least is not None :]
    assert (
        list(zip(*(table[name].to_pylist() for name in ("source", "score")), strict=True)) == kept
    )
    assert report.rejected["low_score"] == (least is not None)
    assert [r["line"] for r in rejects(tmp_path) if r["reason"] == "low_score"] == [1] * bool(least)
    assert report.score_quantiles["0"] == 1
    assert report.score_quantiles["0.5"] == 3
    assert report.score_quantiles["1"] == 5


def test_a_wrong_score_names_the_corpus_and_its_line_and_leaves_nothing(tmp_path: Path) -> None:
    score = ScoreConfig(command="echo 1; echo 2; echo three; echo 4", min_score=None)
    with pytest.raises(ValueError, match=r"train\.parquet, lines 1 to 5: line 4: .* 'three'"):
        run(tmp_path, config(score=score), TRAIN)
    assert not (tmp_path / "clean").exists()
