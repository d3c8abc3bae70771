"""The experiment on pretraining: how the corpus is divided, and what a whole small run prints."""

import json
from importlib import import_module

import pytest

from benchmarks.pretraining import AFTER, Outcome, divide, judge, main
from transformer.text.corpus import write_pairs

PAIRS = [(f"source {n}", f"target {n}") for n in range(50)]
MANIFEST = {"name": "x", "source_language": "fr", "target_language": "en"}


def read_lines(path):
    return path.read_text().split("\n")[:-1]


def test_text_that_is_left_over_has_no_translation_in_it(tmp_path):
    raw = tmp_path / "data/raw"
    for part, pairs in (("train", PAIRS[:40]), ("valid", PAIRS[40:45]), ("test", PAIRS[45:])):
        write_pairs(raw / f"{part}.parquet", pairs)
    (raw / "manifest.json").write_text(json.dumps(MANIFEST))
    divide(tmp_path, "x", 10)
    text, more = tmp_path / "text", tmp_path / "data/monolingual"
    few = list(
        zip(read_lines(text / "train.source"), read_lines(text / "train.target"), strict=True)
    )
    assert len(few) == 10
    assert set(few) <= set(PAIRS[:40])
    number = [
        {line.split()[1] for line in read_lines(path)}
        for path in (text / "train.source", more / "source", more / "target")
    ]
    assert [len(one) for one in number] == [10, 15, 15]
    assert len(set.union(*number)) == 40
    assert read_lines(text / "test.source") == [source for source, _ in PAIRS[45:]]


def test_a_row_tells_the_difference_from_no_pretraining():
    references = ["the cat sleeps in the house .", "a dog eats the bread today ."]
    seconds = {"pretrain": 60.0, "train": 120.0, "evaluate": 1.0}
    baseline = ["the cat", "a dog"]
    none = judge("none", Outcome(seconds, baseline, references), baseline)
    best = judge("spans", Outcome(seconds, references, references), baseline)
    assert none[:3] == ["none", "1.0", "2.0"]
    assert none[4] == "–"
    assert best[:4] == ["spans", "1.0", "2.0", "100.00"]
    assert best[4].startswith(f"{100 - float(none[3]):+.2f} [")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_whole_experiment_in_small(tmp_path, capsys, monkeypatch):
    """Stages run in this process, which saves the start of one for each."""

    ran = []

    def run_here(folder, stages):
        ran.append(stages)
        monkeypatch.chdir(folder)
        for stage in stages:
            getattr(import_module(f"pipeline.stages.{stage}"), stage)()
        return dict.fromkeys(stages, 60.0)

    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://")
    monkeypatch.setattr("benchmarks.pretraining.run", run_here)
    lines = [f"he sees {a} {b} .\til voit {a} {b} ." for a in range(20) for b in "abcdefghij"]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    changes = [
        "corpus.url=null", "corpus.path=pairs.tsv", "corpus.split.valid_pairs=10",
        "corpus.split.test_pairs=10", "vocab.joint.size=300", "model.d_model=16",
        "model.num_heads=2", "model.d_ff=32", "train.max_epochs=2", "train.batch_tokens=256",
        "train.schedule.warmup_steps=1", "evaluate.num_bootstrap=40", "search.beam_size=1",
        "evaluate.num_attention_plots=0",
    ]  # fmt: skip
    settings = {"change": changes, "pairs": 60, "pretraining_epochs": 1, "pretraining_rate": 0.002}
    main(tmp_path, objectives="none,spans", **settings)
    rows = [line for line in capsys.readouterr().out.split("\n") if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == [
        "| pretraining", "| ---", "| none", "| spans",
    ]  # fmt: skip
    manifest = json.loads((tmp_path / "models/pretrained/manifest.json").read_text())
    assert manifest["kind"] == "spans"
    assert manifest["num_sequences"] == 120  # 60 sentences of each side, without translations
    before = len(ran)
    main(tmp_path, objectives="none,spans,causal", **settings)
    again = [line for line in capsys.readouterr().out.split("\n") if line.startswith("| ")]
    assert again[: len(rows)] == rows
    assert [stages for stages in ran[before:] if "train" in stages] == [AFTER]
    assert (
        json.loads((tmp_path / "models/pretrained/manifest.json").read_text())["kind"] == "causal"
    )
