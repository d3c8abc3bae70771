"""Parallel text in Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transformer.text import corpus
from transformer.text.corpus import read_pairs, read_side, write_pairs

PAIRS = [("Va !", "Go."), ("", "Nothing."), ("a\u2028b", "tab\there"), ("日本", "Japan")]


def test_pairs_are_read_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BATCH_PAIRS", 3)
    path = tmp_path / "train.parquet"
    assert write_pairs(path, iter(PAIRS)) == len(PAIRS)
    assert list(read_pairs(path)) == PAIRS
    assert list(read_side(path, "target")) == [target for _, target in PAIRS]


def test_no_pairs_are_a_file_too(tmp_path: Path) -> None:
    assert write_pairs(tmp_path / "empty.parquet", []) == 0
    assert list(read_pairs(tmp_path / "empty.parquet")) == []


def test_the_same_pairs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_pairs(tmp_path / name, PAIRS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    write_pairs(path, PAIRS)

    def broken() -> object:
        yield PAIRS[0]
        raise RuntimeError("source broke")

    with pytest.raises(RuntimeError, match="source broke"):
        write_pairs(path, broken())  # type: ignore[arg-type]
    assert list(read_pairs(path)) == PAIRS
    assert [entry.name for entry in tmp_path.iterdir()] == ["train.parquet"]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"train\.parquet: no such file; run the stages before"):
        next(read_pairs(tmp_path / "train.parquet"))


def test_a_file_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("not parquet at all")
    with pytest.raises(ValueError, match=r"x\.parquet is not a Parquet file"):
        next(read_pairs(tmp_path / "x.parquet"))


def test_a_missing_column_is_told_with_those_there_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": ["a"], "translation": ["b"]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="no column target; there are source, translation"):
        next(read_pairs(tmp_path / "x.parquet"))
