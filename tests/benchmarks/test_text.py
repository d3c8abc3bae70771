"""The benchmark of the text stages: its corpus, its measure, its targets."""

import gzip
from pathlib import Path
from random import Random

import pytest

from benchmarks import batch_plan, text
from benchmarks.batch_plan import PlanRun
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
        Run(size, stage, seconds * size / 10**6, 1, 0.5, 10**6, 2**29)
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


def test_larger_corpora_are_reckoned_from_the_largest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "count_cores", lambda: 2)
    runs = [Run(size, "clean", 9, 36 * size / 10**6, 0, 50 * size, 1) for size in (10**5, 10**6)]
    assert "| 100,000,000 | 0.5 | 0.1 | 0.0 | 5 |" in text._paper(runs)
    serial = [Run(10**6, "clean", 9, 36, 36, 50, 1)]
    assert "the 100% of the CPU time" in text._paper(serial)
    assert "| 100,000,000 | 1.0 | 1.0 | 1.0 | 0 |" in text._paper(serial)


def test_of_two_starts_the_worse_is_judged() -> None:
    runs = [PlanRun(9, "first", 61.0, 0.01, 0.02, 2**31), PlanRun(9, "later", 9.0, 0.01, 0.08, 9)]
    assert [(one.found, one.word) for one in text.judge_plans(runs)] == [
        ("61.0", "missed"),
        ("0.08", "missed"),
        ("2.00", "met"),
    ]


@pytest.mark.slow
def test_batches_are_made_of_so_many_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_plan, "_BESIDE_SECONDS", 0.2)
    main(plan=30_000, folder=tmp_path, output=tmp_path / "text.md")
    page = (tmp_path / "text.md").read_text()
    assert "of 30,000 pairs" in page
    rows = [
        line.split(" | ") for line in page.splitlines() if line.startswith(("| first", "| later"))
    ]
    assert len(rows) == 2
    assert all(0 < float(figure.rstrip(" |")) < 1000 for row in rows for figure in row[1:])
    with pytest.raises(ValueError, match="give --sentences, --plan, or both"):
        main()


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
