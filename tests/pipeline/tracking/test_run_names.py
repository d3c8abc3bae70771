"""A run's name tells the recipe and what differs from it."""

import re
from pathlib import Path

import pytest

from pipeline.flattening import flatten, numbers
from pipeline.recipes import make_params
from pipeline.tracking.run_names import list_differences, name_evaluation, name_run, put_score


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ([], "phrasebook"),
        (["train.learning_rate=2e-3"], "phrasebook, learning_rate 0.002"),
        (["model.dropout=0.2", "train.seed=3"], "phrasebook, dropout 0.2, train.seed 3"),
        (["vocab.joint.size=500"], "phrasebook, vocab.joint.size 500"),
        (["train.max_steps=900", "model.norm=post"], "phrasebook, model.norm post, max_steps 900"),
        (["search.beam_size=9", "evaluate.num_bootstrap=50"], "phrasebook"),
        (
            [
                f"train.{name}={value}"
                for name, value in (("max_epochs", 3), ("max_grad_norm", "null"))
            ]
            + [f"model.{name}=64" for name in ("d_model", "d_ff", "max_positions")]
            + ["tokenize.max_tokens=32", "clean.max_length=30", "model.scale_embeddings=false"],
            "phrasebook, max_length 30, max_tokens 32, d_model 64, model.d_ff 64, "
            "max_positions 64, scale_embeddings false, and 2 more",
        ),
    ],
)
def test_a_name_is_the_recipe_with_what_differs(changes, name):
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    assert name_run() == name


@pytest.mark.parametrize(
    ("experiment", "name"),
    [
        ("half-rate", "half-rate: phrasebook, learning_rate 0.002"),
        ("learning_rate=0.002-a1b2c3", "learning_rate=0.002-a1b2c3"),
    ],
)
def test_a_dvc_experiment_is_called_as_dvc_calls_it(monkeypatch, experiment, name):
    monkeypatch.setenv("DVC_EXP_NAME", experiment)
    Path("params.yaml").write_text(make_params("phrasebook", ["train.learning_rate=0.002"]))
    assert name_run() == name


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "phrasebook, beam 4"),
        ({"search.beam_size": 1, "search.length_penalty": 0.5},
         "phrasebook, beam 1, length_penalty 0.5"),
        ({"evaluate.bleu_tokenizer": "zh", "evaluate.num_bootstrap": 7},
         "phrasebook, beam 4, bleu_tokenizer zh"),
        ({"evaluate.num_sentences": 200}, "quick phrasebook, beam 4, num_sentences 200"),
    ],
)  # fmt: skip
def test_an_evaluation_is_named_by_model_and_settings(settings, name):
    Path("params.yaml").write_text(make_params("phrasebook", []))
    usual = {"search.beam_size": 4, "search.length_penalty": 1.0, "evaluate.bleu_tokenizer": "13a"}
    assert name_evaluation(usual | settings) == name


def test_an_evaluations_name_begins_with_its_latest_score():
    first = put_score("phrasebook, beam 4", 92.818)
    assert first == "92.82 phrasebook, beam 4"
    assert put_score(first, 5.0) == "5.00 phrasebook, beam 4"


def test_pretraining_is_told_where_training_begins_with_it(make_pretrain):
    changes = [make_pretrain(seed=2)]
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    assert name_run() == "phrasebook"
    changes += ["train.initialize_from=pretrained"]
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    assert name_run() == "phrasebook, pretrain.kind masked, initialize_from pretrained"


def test_an_edit_by_hand_is_told_too():
    path = Path("params.yaml")
    text = make_params("multi30k-de-en-small", ["train.seed=5"])
    path.write_text(re.sub(r"learning_rate: \S+", "learning_rate: 1e-3", text))
    assert name_run() == "multi30k-de-en-small, train.seed 5, learning_rate 0.001"


@pytest.mark.parametrize("first", ["# mine\n", "# Recipe: forgotten --set a=1\n", ""])
def test_a_file_that_no_recipe_wrote_is_named_by_itself(first):
    path = Path("params.yaml")
    path.write_text(first + make_params("phrasebook", []).split("\n", 1)[1])
    assert name_run() == "params.yaml"


def test_another_kind_shows_what_came_with_it():
    base = {"schedule.kind": "linear", "schedule.warmup_steps": 200}
    values = {"schedule.kind": "constant", "schedule.warmup_steps": 200, "schedule.extra": None}
    assert list_differences(base, values) == {"schedule.kind": "constant", "extra": "null"}


def test_params_are_flattened_with_their_names():
    assert flatten({"a": {"b": {"c": 1}, "d": [2]}, "e": None}) == {
        "a.b.c": 1,
        "a.d": [2],
        "e": None,
    }


def test_numbers_are_what_mlflow_can_draw():
    values = {"bleu": 30, "passed": True, "words": "no", "nothing": None, "deep": {"ter": 1.5}}
    assert numbers(values, "test") == {"test.bleu": 30.0, "test.passed": 1.0, "test.deep.ter": 1.5}
