"""Results are taken over if they are those of this project, whole or not at all."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.elsewhere.adopting import adopt_results, find_mismatches
from pipeline.elsewhere.record import hash_files, read_record


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def mismatches(box: Path) -> list[str]:
    return find_mismatches(box, read_record(box))


def test_results_of_this_project_fit(run_there):
    assert mismatches(run_there()) == []


def test_what_no_result_depends_on_may_differ(home, run_there):
    box = run_there()
    (home / "data/raw/train.parquet").write_text("other")
    (home / "models/pretrained/manifest.json").unlink()
    (home / "pipeline/adopt.py").write_text("other")
    edit(home / "params.yaml", "num_frequent: 200", "num_frequent: 100")
    for name in ("data", "pipeline", "transformer", "models/tokenizer"):
        shutil.rmtree(box / name)  # only results come back
    assert mismatches(box) == []


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("data/ids/meta.json", "data/ids/meta.json: HASH here, HASH there"),
        ("data/raw/test.parquet", "data/raw/test.parquet: HASH here, HASH there"),
        ("data/clean/test.parquet", "data/clean/test.parquet: HASH here, HASH there"),
        ("models/tokenizer/tokenizer.json", "models/tokenizer/tokenizer.json: HASH here, HASH "),
        ("pipeline/stages/train.py", "pipeline/stages/train.py: HASH here, HASH there"),
        ("transformer/training/new.py", "transformer/training/new.py: HASH here, missing there"),
    ],
)
def test_another_file_at_home_is_named(home, run_there, file, message):
    box = run_there()
    (home / file).write_text("other")
    (found,) = mismatches(box)
    assert re.match(message.replace("HASH", "[0-9a-f]{12}"), found)


def test_code_that_is_gone_at_home_is_named(home, run_there):
    box = run_there()
    (home / "transformer/training/trainer.py").unlink()
    (found,) = mismatches(box)
    assert re.fullmatch(r"transformer/training/trainer.py: missing here, \w{12} there", found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_epochs: 1", "max_epochs: 9", "params.yaml: train.max_epochs is 9 here, 1 there"),
        ("d_ff: 512", "d_ff: 256", "params.yaml: model.d_ff is 256 here, 512 there"),
        ("beam_size: 4", "beam_size: 5", "params.yaml: search.beam_size is 5 here, 4 there"),
        ("num_pairs: 160000", "num_pairs: 9", "params.yaml: corpus.num_pairs is 9 here, 160000 "),
    ],
)
def test_other_params_at_home_are_named(home, run_there, old, new, message):
    box = run_there()
    edit(home / "params.yaml", old, new)
    (found,) = mismatches(box)
    assert found.startswith(message)


def test_a_result_that_is_not_the_one_that_was_written_is_named(run_there):
    box = run_there()
    (box / "models/checkpoint/file").write_text("damaged")
    (box / "reports/evaluate.json").unlink()
    (box / "reports/attention/extra.png").write_text("")
    checkpoint, extra, report = mismatches(box)
    assert re.match(rf"models/checkpoint/file: \w+ in {box}, \w+ when train wrote it", checkpoint)
    assert re.match(rf"reports/attention/extra.png: \w+ in {box}, missing when evaluate", extra)
    assert re.match(rf"reports/evaluate.json: missing in {box}, \w+ when evaluate", report)


def test_a_model_that_was_not_the_one_evaluated_is_named(run_there):
    run_there()
    (found,) = mismatches(run_there("train", wrote="another result"))
    assert found.startswith("models/checkpoint was trained after `evaluate` there")


def test_a_stage_that_was_not_run_is_named(run_there):
    (found,) = mismatches(run_there("train"))
    assert found == "evaluate was not run there: `python -m pipeline evaluate`"


def test_all_mismatches_are_told_at_once_and_nothing_is_changed(home, run_there):
    box = run_there()
    edit(home / "params.yaml", "max_epochs: 1", "max_epochs: 9")
    for name in (
        "data/ids/meta.json",
        "models/tokenizer/tokenizer.json",
        "pipeline/stages/train.py",
    ):
        (home / name).write_text("other")
    before = hash_files([Path()], home)
    with pytest.raises(ValueError, match="nothing was taken over") as raised:
        adopt_results(box)
    for name in (
        "train.max_epochs",
        "data/ids/meta",
        "models/tokenizer",
        "pipeline/stages/train.py",
    ):
        assert name in str(raised.value)
    assert hash_files([Path()], home) == before


@pytest.mark.parametrize("has_results", [True, False])
def test_where_dvc_refuses_all_is_as_before(home, run_there, has_results):
    box = run_there()  # and home is no repository of DVC's
    if has_results:
        shutil.copytree(box / "reports", home / "reports")
        (home / "reports/train.json").write_text("older")
        (home / "dvc.lock").write_text("older")
    before = hash_files([Path()], home)
    with pytest.raises(ValueError, match=r"(?s)DVC does not take .*not inside of a DVC repository"):
        adopt_results(box)
    assert hash_files([Path()], home) == before


def test_one_that_is_interrupted_leaves_all_as_before(home, run_there, monkeypatch):
    box = run_there()
    before = hash_files([Path()], home)

    def commit(*_: object, **__: object) -> None:
        assert (home / "models/checkpoint/file").read_text() == "result of train"
        (home / "dvc.lock").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", commit)
    with pytest.raises(KeyboardInterrupt):
        adopt_results(box)
    assert hash_files([Path()], home) == before
