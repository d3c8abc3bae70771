"""The record tells what a stage really read."""

from pathlib import Path

import pytest

from pipeline.elsewhere.record import RECORD, SUMS, Recorder, read_record
from transformer.files import sha256_file


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def test_params_that_are_edited_during_a_training_are_not_taken_for_its_own(home):
    Path(SUMS).write_text("")
    ids = sha256_file(Path("data/ids/meta.json"))
    recorder = Recorder("train")
    edit("params.yaml", "max_epochs: 1", "max_epochs: 9")
    Path("data/ids/meta.json").write_text("other")
    recorder.finish()
    made = read_record(Path())["train"]
    assert made.params["train"]["max_epochs"] == 1
    assert made.inputs["data/ids/meta.json"] == ids


def test_a_stage_that_runs_again_leaves_the_record_of_the_other(run_there):
    before = read_record(run_there())
    after = read_record(run_there("train", wrote="another result"))
    assert after["evaluate"] == before["evaluate"]
    assert after["train"].outputs != before["train"].outputs


def test_it_tells_the_machine(run_there):
    machine = read_record(run_there())["train"].machine
    assert machine["device"].startswith("cpu: ")
    assert machine["version.torch"].startswith("2.")


def test_pretrained_weights_are_read_where_training_begins_with_them(home):
    Path(SUMS).write_text("")
    for value, is_read in (("null", False), ("pretrained", True)):
        edit("params.yaml", "initialize_from: null", f"initialize_from: {value}")
        Recorder("train").finish()
        assert ("models/pretrained/manifest.json" in read_record(Path())["train"].inputs) == is_read


def test_at_home_there_is_none(home):
    Recorder("train").finish()
    assert not RECORD.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"made.json: no such file; `train` and `evaluate` write it"),
        ("[]", "expected a mapping"),
        ('{"train": {"params": {}}}', "train.inputs: missing"),
    ],
)
def test_a_record_of_another_form_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / RECORD).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_record(tmp_path)
