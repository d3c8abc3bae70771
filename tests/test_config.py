"""Params problems are told together, each with path, value and what is allowed."""

import math
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from pipeline.params import load_section, load_sections, read_params
from pipeline.recipes import load_recipe
from pipeline.schema import SECTIONS, check_values
from transformer.config import ConfigError, Section, parse_section
from transformer.model.config import ModelConfig


class Circle(Section):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Square(Section):
    kind: Literal["square"]
    side: int


class Drawing(Section):
    shape: Annotated[Circle | Square, Field(discriminator="kind")]
    title: str


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "params.yaml"
        path.write_text(text)
        return path

    return write


def test_numbers_that_dvc_writes_arrive_as_numbers(write):
    path = write("drawing: {title: off, shape: {kind: circle, radius: 1e-05}}")
    drawing = load_section("drawing", Drawing, path)
    assert drawing.shape.radius == 1e-05
    assert drawing.title == "off"


def test_an_integer_is_a_number_but_a_number_is_no_integer(write):
    path = write("circle: {kind: circle, radius: 1}\nsquare: {kind: square, side: 1.0}")
    assert load_section("circle", Circle, path).radius == 1.0
    with pytest.raises(ConfigError, match=r"square.side = 1.0: input should be a valid integer"):
        load_section("square", Square, path)


def test_all_problems_of_all_sections_are_told_at_once(write):
    path = write(
        "drawing: {shape: {kind: circle, radius: -1, colour: red}}\n"
        "other: {shape: {kind: star}, title: 3}\n"
    )
    with pytest.raises(ConfigError) as error:
        load_sections(("drawing", Drawing), ("other", Drawing), ("third", Drawing), path=path)
    assert error.value.problems == [
        "drawing.shape.radius = -1: input should be greater than 0",
        "drawing.shape.colour = 'red': unknown key; correct or remove it",
        "drawing.title: missing; this key is required",
        "other.shape.kind = 'star': allowed are 'circle', 'square'",
        "other.title = 3: input should be a valid string",
        "third: this section is missing",
    ]
    assert "6 problems" in str(error.value)


OLD_NAMES = [
    ("corpus", "license", "licence"),
    ("model", "layer_norm_variant", "norm_divisor"),
    ("model", "position_encoding", "positions"),
    ("train", "max_grad_norm", "clip_norm"),
    ("train", "initialize_from", "initialise_from"),
    ("pretrain", "mask_probability", "share"),
    ("pretrain", "dupe_factor", "draws"),
    ("pretrain.train", "max_grad_norm", "clip_norm"),
    ("pretrain.train", "initialize_from", "initialise_from"),
    ("export", "max_bleu_loss", "max_int8_bleu_loss"),
]


def rename(values: dict[str, Any], section: str, new: str, old: str) -> str:
    """Gives a key its old name, and returns what the refusal says of it."""
    for part in section.split("."):
        values = values[part]
    values[old] = values.pop(new)
    return f"{section}.{old} = {values[old]!r}: renamed to {section}.{new}"


def test_all_old_keys_of_a_params_file_are_told_with_their_new_names():
    values = load_recipe("wmt14-de-en-pretrained")
    told = [rename(values, *names) for names in OLD_NAMES]
    with pytest.raises(ConfigError) as error:
        check_values(values, "params.yaml")
    assert sorted(error.value.problems) == sorted(told)


def test_an_old_key_of_one_kind_is_told_by_that_kind():
    values = load_recipe("wmt14-de-en-pretrained")["pretrain"]
    del values["mask_probability"], values["next_sentence"]
    values |= {"kind": "spans", "share": 0.15, "mean_span": 3.0, "num_sentinels": 99}
    _, problems = parse_section(SECTIONS["pretrain"], "pretrain", values)
    assert sorted(problems) == [
        "pretrain.mean_span = 3.0: renamed to pretrain.mean_span_length",
        "pretrain.share = 0.15: renamed to pretrain.noise_density",
    ]


@pytest.mark.parametrize(("old", "new"), [("root", "standard"), ("deviation", "unbiased")])
def test_an_old_value_is_told_with_its_new_name(old, new):
    values = load_recipe("phrasebook")["model"]
    del values["layer_norm_variant"]
    _, problems = parse_section(ModelConfig, "model", values | {"norm_divisor": old})
    told = f"model.norm_divisor = {old!r}: renamed to model.layer_norm_variant = {new!r}"
    assert problems == [told]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "not YAML"), ("- a", "expected sections"), ("a: 1\na: 2", "not YAML")],
)
def test_a_file_that_is_no_params_file_is_refused(write, text, message):
    with pytest.raises(ConfigError, match=message):
        read_params(write(text))


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="recipe phrasebook"):
        read_params(tmp_path / "params.yaml")


def test_sections_are_frozen(write):
    circle = load_section("a", Circle, write("a: {kind: circle, radius: 2.0}"))
    with pytest.raises(ValueError, match="frozen"):
        circle.radius = 3.0


# Each passed once, and killed a stage.
KILLING = [
    ("vocab.joint.size", 10**9, "less than or equal to 10000000"),
    ("train.num_threads", 10**9, "less than or equal to 1024"),
    ("train.num_threads", 1024, r"train\.num_threads = 1024: this machine has \d+ cores; at most"),
    ("train.num_processes", 1000, r"this machine has \d+ cores; lower it to that"),
    ("model.d_model", 10**9, r"the model takes [\d,.]+ GB to train, and [\d,.]+ GB are here"),
    ("model.d_ff", 10**9, r"the model takes 1[\d,]+\.\d GB to train.* lower .* d_ff"),
    ("model.max_positions", 10**9, "less than or equal to 1000000"),
    ("model.num_encoder_layers", 10**7, "less than or equal to 1000"),
    ("model.num_decoder_layers", 10**7, "less than or equal to 1000"),
    ("corpus.num_pairs", 10**9, "less than or equal to 20000000"),
    ("model.norm_epsilon", math.inf, "finite number"),
    ("train.optimizer.epsilon", math.inf, "finite number"),
    ("train.learning_rate", math.inf, "finite number"),
    ("train.max_grad_norm", math.nan, "finite number"),
    ("train.batch_tokens", 10**30, "beyond 64 bits|less than or equal to"),
    ("train.max_steps", 10**30, "beyond 64 bits; at most 9223372036854775807"),
    ("clean.seed", 10**30, "beyond 64 bits"),
    ("evaluate.num_bootstrap", 10**9, "less than or equal to 100000"),
    ("evaluate.length_bins", [5, 10**30], "beyond 64 bits"),
    ("search.length_penalty", 1e39, r"less than or equal to 5|beyond float32"),
    ("search.length_penalty", 100.0, "less than or equal to 5"),
    ("search.patience", 1e39, "beyond float32"),
    ("search.max_length_factor", 1e39, "beyond float32"),
    ("search.max_length_extra", 10**30, "beyond 64 bits"),
    ("train.optimizer.epsilon", 1e-50, "beyond float32"),
]


@pytest.mark.parametrize(("key", "value", "message"), KILLING)
def test_a_value_that_would_kill_a_stage_is_refused(key, value, message):
    values = load_recipe("phrasebook")
    *path, last = key.split(".")
    holder = values
    for part in path:
        holder = holder[part]
    assert last in holder
    holder[last] = value
    with pytest.raises(ConfigError, match=message) as error:
        check_values(values, "params.yaml")
    assert all(problem.startswith(path[0]) for problem in error.value.problems)


def test_a_model_for_no_gpu_is_refused_and_one_for_some_is_left_to_train():
    values = load_recipe("phrasebook")
    values["train"]["device"] = "cuda"
    values["model"] |= {"d_model": 8192, "d_ff": 65536, "num_decoder_layers": 20}
    check_values(values, "params.yaml")
    values["model"] |= {"d_ff": 10**9}
    with pytest.raises(ConfigError, match=r"GB to train, and 1,099.5 GB are here"):
        check_values(values, "params.yaml")


def test_more_processes_than_cores_are_left_to_gpus():
    values = load_recipe("phrasebook")
    values["train"] |= {"num_processes": 1000, "device": "cuda"}
    check_values(values, "params.yaml")


@pytest.mark.parametrize("digits", [100, 4000, 5000])
def test_a_huge_value_is_not_told_whole(digits):
    values = load_recipe("phrasebook")
    values["model"] |= {"d_model": 10**digits, "d_ff": [1] * digits, "unknown": "x" * digits}
    with pytest.raises(ConfigError, match=r"model\.d_model") as told:
        check_values(values, "params.yaml")
    assert len(str(told.value)) < 2000


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "a: " + "9" * 5000])
def test_yaml_that_no_reader_takes_is_told(write, text):
    with pytest.raises(ConfigError, match="not YAML"):
        read_params(write(text))
