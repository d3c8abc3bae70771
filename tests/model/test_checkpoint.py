import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer.files import sha256_file, write_sealed
from transformer.model.checkpoint import (
    CheckpointInfo,
    load_checkpoint,
    model_hash,
    save_checkpoint,
)
from transformer.model.transformer import Transformer
from transformer.model.weights import save_tensors
from transformer.text.special_tokens import SpecialIds


@pytest.fixture
def info(model_maker):
    config = model_maker(d_model=32, tie_embeddings="all").config
    return CheckpointInfo(config, 20, 20, SpecialIds(0, 1, 2, 3), SpecialIds(0, 1, 2, 3), "f0")


@pytest.fixture
def model(info):
    torch.manual_seed(0)
    return Transformer(info.model, info.source_vocab_size, info.target_vocab_size).eval()


@pytest.fixture
def folder(tmp_path, model, info):
    save_checkpoint(tmp_path / "checkpoint", model, info)
    return tmp_path / "checkpoint"


def test_weights_that_can_not_be_written_are_told_with_their_place(tmp_path):
    path = tmp_path / "missing" / "model.safetensors"
    with pytest.raises(OSError, match=re.escape(str(path))):
        save_tensors(path, {"a": torch.zeros(1)})


def test_a_loaded_model_is_the_saved_one(folder, model, info):
    loaded, loaded_info = load_checkpoint(folder)
    assert loaded_info == info
    assert not loaded.training
    ids = torch.tensor([[5, 6, 3]])
    assert torch.equal(loaded(ids, None, ids), model(ids, None, ids))
    assert loaded.output_projection.weight is loaded.source_embedding.tokens.weight


def test_tied_weights_are_stored_once(folder, model):
    stored = load_file(folder / "model.safetensors")
    assert sum(value.numel() for value in stored.values()) == model.num_parameters()


def test_the_same_model_gives_the_same_bytes(folder, tmp_path, model, info):
    save_checkpoint(tmp_path / "again", model, info)
    for name in ("model.safetensors", "config.json"):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert model_hash(folder) == model_hash(tmp_path / "again")


def test_other_weights_give_another_hash(folder, tmp_path, model, info):
    with torch.no_grad():
        model.output_projection.weight += 1
    save_checkpoint(tmp_path / "other", model, info)
    assert model_hash(folder) != model_hash(tmp_path / "other")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    for read in (load_checkpoint, model_hash):
        with pytest.raises(ValueError, match=rf"{name}: no such file; run the stage `train`"):
            read(folder)


def write_hash(folder, sha256):
    path = folder / "config.json"
    values = json.loads(path.read_text())
    values.pop("weights_sha256")
    write_sealed(path, values | ({"weights_sha256": sha256} if sha256 else {}))


def test_a_flipped_bit_of_the_weights_is_refused(folder):
    path = folder / "model.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"model.safetensors is damaged, or was edited.*`train`"):
        load_checkpoint(folder)


def test_a_checkpoint_of_before_is_refused(folder):
    write_hash(folder, None)
    with pytest.raises(ValueError, match=r"wrote None; run `train` again"):
        load_checkpoint(folder)


def test_a_config_that_was_edited_is_refused(folder):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"target_vocab_size": 13}))
    with pytest.raises(ValueError, match=r"config.json is damaged, or was edited.* stage `train` "):
        load_checkpoint(folder)


def test_damaged_weights_are_refused_whatever_their_hash(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    write_hash(folder, sha256_file(path))
    with pytest.raises(ValueError, match=r"model.safetensors is damaged .*`dvc checkout`"):
        load_checkpoint(folder)


def test_a_config_of_another_form_is_refused(folder):
    path = folder / "config.json"
    values = json.loads(path.read_text())
    write_sealed(path, values | {"speed": 3})
    with pytest.raises(ValueError, match=r"config.json has another form .*speed"):
        load_checkpoint(folder)
    write_sealed(path, values | {"model": values["model"] | {"num_heads": 3}})
    with pytest.raises(ValueError, match="num_heads = 3 must divide"):
        load_checkpoint(folder)
    path.write_text("[]")
    with pytest.raises(ValueError, match="it is not sealed"):
        load_checkpoint(folder)


def test_weights_of_another_model_are_refused(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    bias = weights.pop("encoder_norm.bias")
    weights["extra"] = bias
    weights["encoder_norm.weight"] = bias[:3].clone()
    save_file(weights, path)
    write_hash(folder, sha256_file(path))
    message = r"encoder_norm.bias is missing; extra is unknown; encoder_norm.weight is \[3\]"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(folder)
    save_file(weights | {f"extra{number}": bias.clone() for number in range(4)}, path)
    write_hash(folder, sha256_file(path))
    message = r"encoder_norm.bias is missing(; extra\d? is unknown){4}; …; the two come from"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(folder)
