"""Recipes write whole, valid params files, and never over a person's own edits."""

import pytest

from pipeline.params import read_params
from pipeline.recipes import list_recipes, make_params, write_params
from pipeline.schema import SECTIONS, check_params
from transformer.config import ConfigError

NAMES = [name for name, _ in list_recipes()]


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_is_a_whole_valid_file(name, tmp_path):
    path = tmp_path / "params.yaml"
    write_params(path, make_params(name, []), force=False)
    check_params(path)
    assert list(read_params(path)) == list(SECTIONS)


def test_every_recipe_has_a_line_about_it():
    for name, summary in list_recipes():
        assert summary, name
        assert "\n" not in summary, name


def test_a_recipe_differs_from_its_base_by_what_it_names(tmp_path):
    path = tmp_path / "params.yaml"
    write_params(path, make_params("multi30k-de-en", []), force=False)
    base = read_params(path)
    write_params(path, make_params("multi30k-de-en-small", []), force=False)
    small = read_params(path)
    assert small["corpus"] == base["corpus"]
    assert small["vocab"]["joint"] == base["vocab"]["joint"] | {"size": 4000}


def test_changes_are_typed_and_replace_another_kind_whole(tmp_path):
    path = tmp_path / "params.yaml"
    schedule = "train.schedule={kind: constant, warmup_steps: 5}"
    changes = ["train.learning_rate=1e-5", "train.max_steps=null", schedule]
    write_params(path, make_params("multi30k-de-en", changes), force=False)
    train = read_params(path)["train"]
    assert train["learning_rate"] == 1e-5
    assert train["max_steps"] is None
    assert train["schedule"] == {"kind": "constant", "warmup_steps": 5}


def test_a_change_of_several_lines_is_written_whole(tmp_path):
    path = tmp_path / "params.yaml"
    schedule = "train.schedule={kind: constant,\n  warmup_steps: 5}"
    write_params(path, make_params("phrasebook", [schedule]), force=False)
    check_params(path)
    assert read_params(path)["train"]["schedule"] == {"kind": "constant", "warmup_steps": 5}


def test_comments_stay_with_their_keys():
    lines = make_params("phrasebook", []).split("\n")
    assert "  # 1 is greedy search." in lines
    assert not [line for line in lines if line.startswith("   #")]


def test_hand_edits_are_kept_unless_forced(tmp_path):
    path = tmp_path / "params.yaml"
    write_params(path, make_params("phrasebook", []), force=False)
    write_params(path, make_params("phrasebook", ["train.seed=2"]), force=False)
    edited = path.read_text().replace("seed: 2", "seed: 3")
    path.write_text(edited)
    with pytest.raises(ValueError, match=r"edited by hand .* --force"):
        write_params(path, make_params("phrasebook", []), force=False)
    assert path.read_text() == edited
    write_params(path, make_params("phrasebook", []), force=True)
    assert path.read_text() == make_params("phrasebook", [])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("phrase-book", None, r"no recipe 'phrase-book'; there are: .*phrasebook"),
        ("phrasebook", "train.seed", r"expected KEY=VALUE"),
        ("phrasebook", "evaluate.length_bins=[1", r"the value is not YAML .*quote"),
        ("phrasebook", "train.seed=99999999999999999999", r"train.seed = 9+: .*less than"),
        ("phrasebook", "train.sead=1", r"no key 'train.sead'; did you mean 'train.seed'"),
        ("phrasebook", "trian.seed=1", r"no key 'trian.seed'; did you mean 'train.seed'"),
        ("phrasebook", "max_epoch=1", r"no key 'max_epoch'; did you mean 'train.max_epochs'"),
        ("phrasebook", "colour=1", r"no key 'colour'$"),
        ("phrasebook", "train.seed=one", r"train.seed = 'one': input should be a valid integer"),
        ("phrasebook", "model.num_heads=3", r"num_heads = 3 must divide d_model"),
        ("phrasebook", "train.max_steps=100", r"warmup_steps = 200 must be below max_steps = 100"),
        (
            "phrasebook",
            "vocab.source={kind: word, boundary: sign, size: 9, min_frequency: 1}",
            r"joint alone",
        ),
        ("phrasebook", "tokenize.max_tokens=999", r"longer than model.max_positions = 256"),
    ],
)
def test_bad_recipes_and_changes_are_refused(name, change, message):
    with pytest.raises(ValueError, match=message):
        make_params(name, [change] if change else [])


def test_tied_embeddings_need_a_joint_vocabulary():
    word = "{kind: word, boundary: sign, size: 999, min_frequency: 1}"
    vocab = f"vocab={{joint: null, source: {word}, target: {word}}}"
    with pytest.raises(ConfigError, match=r"model.tie_embeddings = 'all': needs vocab.joint"):
        make_params("phrasebook", [vocab])


def test_an_unknown_section_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(make_params("phrasebook", []) + "trian: {}\n")
    with pytest.raises(ConfigError, match=r"trian: unknown section; the sections are corpus"):
        check_params(path)
