"""A training goes on from the states of the same training alone."""

import pytest
import torch

from pipeline import repository
from pipeline.recipes import make_params
from pipeline.training import fingerprint
from pipeline.training.fingerprint import Fingerprint, fingerprint_training, list_changed
from transformer.config import parse_section
from transformer.model.config import ModelConfig
from transformer.training.config import TrainConfig


@pytest.fixture
def ids(tmp_path):
    folder = tmp_path / "ids"
    folder.mkdir()
    (folder / "meta.json").write_text("{}")
    return folder


@pytest.fixture
def fingerprint_of(tmp_path, ids):
    def make(*changes: str) -> Fingerprint:
        from pipeline.params import load_sections

        path = tmp_path / "params.yaml"
        path.write_text(make_params("phrasebook", ["train.device=cpu", *changes]))
        train, model = load_sections(("train", TrainConfig), ("model", ModelConfig), path=path)
        return fingerprint_training(train, model, ids)

    return make


@pytest.fixture
def name_of(fingerprint_of):
    return lambda *changes: fingerprint_of(*changes).name


def test_the_same_training_has_one_name(name_of):
    assert name_of() == name_of() == name_of("train.save_every_seconds=1", "search.beam_size=7")


@pytest.mark.parametrize("change", ["train.num_processes=2", "train.num_threads=1"])
def test_who_sums_the_same_numbers_does_not_name_a_training(name_of, change):
    assert name_of(change) == name_of()


@pytest.mark.parametrize(
    "change",
    ["train.seed=2", "train.learning_rate=1e-3", "train.log_every_steps=7", "model.dropout=0.2"],
)
def test_other_params_are_another_training(name_of, change):
    assert name_of(change) != name_of()


def test_other_data_is_another_training(name_of, ids):
    before = name_of()
    (ids / "meta.json").write_text('{"sha256": {}}')
    assert name_of() != before


def test_other_weights_to_begin_with_are_another_training(name_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pretrained = tmp_path / "models/pretrained/model.safetensors"
    pretrained.parent.mkdir(parents=True)
    hashes = {"afresh": [], "pretrained": []}
    for weights in (b"abc", b"abd"):
        pretrained.write_bytes(weights)
        hashes["afresh"].append(name_of())
        hashes["pretrained"].append(name_of("train.initialize_from=pretrained"))
    assert len(set(hashes["afresh"])) == 1
    assert len(set(hashes["pretrained"])) == 2


def test_other_code_is_the_same_training_and_is_listed(fingerprint_of, monkeypatch):
    before = fingerprint_of()
    assert "transformer/training/loss.py" in before.code
    real = repository.sha256_file
    monkeypatch.setattr(
        repository, "sha256_file", lambda path: "other" if path.name == "loss.py" else real(path)
    )
    after = fingerprint_of()
    assert after.name == before.name
    assert list_changed(before.code, after.code) == ["transformer/training/loss.py"]


def test_files_that_came_or_went_are_listed():
    assert list_changed({"a.py": "1", "b.py": "2"}, {"b.py": "2", "c.py": "3"}) == ["a.py", "c.py"]


def test_another_format_is_another_training(name_of, monkeypatch):
    before = name_of()
    monkeypatch.setattr(fingerprint, "FORMAT", fingerprint.FORMAT + 1)
    assert name_of() != before


def test_what_last_bits_depend_on_is_another_training(name_of, monkeypatch):
    hashes = {name_of()}
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "0.0")
        hashes.add(name_of())
    with monkeypatch.context() as patch:
        patch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "ABACUS")
        hashes.add(name_of())
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (torch.cuda, "get_device_name", lambda: "another"),
        (torch.version, "cuda", "14.0"),
        (torch.backends.cudnn, "version", lambda: 92000),
    ],
)
def test_another_gpu_or_its_libraries_are_another_training(
    name_of, monkeypatch, owner, name, value
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "one")
    before = name_of("train.device=cuda")
    monkeypatch.setattr(owner, name, value)
    assert name_of("train.device=cuda") != before


@pytest.mark.parametrize("seconds", [-1, "60", float("inf")])
def test_an_interval_that_is_none_is_refused(seconds, tmp_path):
    from pipeline.params import read_params

    path = tmp_path / "params.yaml"
    path.write_text(make_params("phrasebook", []))
    values = read_params(path)["train"] | {"save_every_seconds": seconds}
    section, problems = parse_section(TrainConfig, "train", values)
    assert section is None
    assert f"train.save_every_seconds = {seconds!r}: " in problems[0]
