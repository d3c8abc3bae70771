"""Changes as `-S` takes them, over a params file that stays as it is."""

from pathlib import Path

import pytest

from pipeline.experiments.changed_params import change_params
from pipeline.recipes import make_params


@pytest.fixture(autouse=True)
def _params(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(make_params("phrasebook", []))


def test_values_are_changed_and_the_file_is_not():
    before = Path("params.yaml").read_bytes()
    changed = change_params(["train.seed=2", "train.schedule={kind: constant, warmup_steps: 5}"])
    assert changed["train"]["seed"] == 2
    assert changed["train"]["schedule"] == {"kind": "constant", "warmup_steps": 5}
    assert Path("params.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.max_epoch=1", "did you mean 'train.max_epochs'"),
        ("max_epochs=1", "did you mean 'train.max_epochs'"),
        ("modle.dropout=0.1", "did you mean 'model.dropout'"),
        ("trian.sede=1", "did you mean 'train.seed'"),
        ("train.seed.more=1", "has no key 'train.seed.more'$"),
        ("train.lr=1", "has no key 'train.lr'$"),
        ("+train.sead=1", "train.sead = 1: unknown key"),
        ("evaluate.sets={valid: {kind: part, part: valid}}", r"takes a plus: -S '\+evaluate.sets="),
        ("train.seed=one", "train.seed = 'one': input should be"),
    ],
)
def test_a_mistyped_key_is_told_with_the_one_that_was_meant(change, message):
    with pytest.raises(ValueError, match=message):
        change_params([change])
