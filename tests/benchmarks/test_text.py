"""The benchmark of the text stages: its corpus, its measure, its targets."""

import gzip
from pathlib import Path
from random import Random

import pytest

from benchmarks import text
from benchmarks.text import Run, join_pairs, judge_runs, main
from transformer.text.manifest import check_parts

PAIRS = [(f"s{n}", f"t{n}") for n in range(9)]


def test_both_sides_are_joined_alike() -> None:
    found = list(join_pairs(PAIRS, 50, Random(1)))
    assert [source.replace("s", "t") for source, _ in found] == [target for _, target in found]
    assert {source.count(" ") for source, _ in found} == {0, 1, 2, 3}
    assert found == list(join_pairs(PAIRS, 50, Random(1))) != list(join_pairs(PAIRS, 50, Random(2)))


def test_targets_are_of_all_stages_together() -> None:
    runs = [
        Run(size, stage, seconds * size / 10**6, 1, 2**29)
        for size, seconds in ((10**6, 20.5), (5 * 10**6, 20))
        for stage in text.STAGES
    ]
    assert [(one.found, one.word) for one in judge_runs(runs)] == [
        ("61.5", "missed"),
        ("0.50", "met"),
        ("0.50", "met"),
        ("0.98", "met"),
        ("–", "not measured"),
    ]


@pytest.mark.slow
def test_stages_run_on_what_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "HELD_OUT_PAIRS", 5)
    lines = "".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(300))
    (tmp_path / "fra.txt.gz").write_bytes(gzip.compress(lines.encode()))
    folder = tmp_path / "corpora"
    folder.mkdir()
    main(tmp_path / "fra.txt.gz", num_pairs="400", folder=folder, output=tmp_path / "text.md")
    assert not list(folder.iterdir())
    page = (tmp_path / "text.md").read_text()
    assert page == capsys.readouterr().out.rstrip("\n") + "\n"
    assert all(f"| 400 | {stage} |" in page for stage in (*text.STAGES, "all"))
    text.write_corpus(folder / "raw", PAIRS, 7, 1)
    check_parts(folder / "raw", "download")
