"""A run's name: the recipe, and what differs from it."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.flattening import flatten
from pipeline.params import read_params
from pipeline.paths import PARAMS
from pipeline.recipes import load_recipe, recipe_name

# The sections that make a model. How it is used later may change, but a run's params can't.
MODEL_SECTIONS = (
    *("corpus", "synthesize", "clean", "vocab", "tokenize"),
    *("pretrain", "model", "train"),
)
_MAX_DIFFERENCES = 6
# A shorter name, such as `size`, says too little by itself.
_MIN_NAME = 5
# Settings of an evaluation that are told otherwise, or say little.
_UNTOLD = ("search.beam_size", "evaluate.num_bootstrap")
# Before the name of an evaluation.
_SCORE = re.compile(r"^\d+\.\d\d ")
# MLflow keeps run names up to this many characters.
_MAX_CHARACTERS = 250


def model_params(path: Path = PARAMS) -> dict[str, Any]:
    """The sections of a params file that make a model: no stage that is off, or makes nothing."""
    params = {name: values for name, values in read_params(path).items() if name in MODEL_SECTIONS}
    if params.get("train", {}).get("initialize_from") is None:
        params.pop("pretrain", None)
    if params.get("synthesize", {}).get("kind") == "none":
        del params["synthesize"]
    return params


def name_run(path: Path = PARAMS) -> str:
    """Such as `phrasebook, learning_rate 0.002`; `params.yaml` where no recipe wrote the file.

    What makes the model is told, other settings are not; of pretraining its kind alone. A DVC
    experiment is called as DVC calls it, with what differs where that name doesn't say it.
    """
    recipe = recipe_name(path)
    experiment = os.environ.get("DVC_EXP_NAME")
    if experiment is not None and "=" in experiment:  # a sweep's
        return experiment
    if recipe is None:
        return experiment or str(path)
    base = load_recipe(recipe)
    differences = list_differences(
        _told({name: base[name] for name in MODEL_SECTIONS}), _told(model_params(path))
    )
    words = [f"{key} {value}" for key, value in differences.items()]
    if len(words) > _MAX_DIFFERENCES:
        words[_MAX_DIFFERENCES:] = [f"and {len(words) - _MAX_DIFFERENCES} more"]
    told = ", ".join([recipe, *words])
    return (told if experiment is None else f"{experiment}: {told}")[:_MAX_CHARACTERS]


def name_evaluation(settings: Mapping[str, Any], path: Path = PARAMS) -> str:
    """Such as `phrasebook, learning_rate 0.002, beam 4`: the model, and how it decodes.

    Args:
        settings: flat, of the sections `search` and `evaluate`; those that are not the recipe's are
            told.
        path: a params file.
    """
    recipe = recipe_name(path)
    base = flatten(load_recipe(recipe)) if recipe is not None else settings
    known = {key: base.get(key) for key in settings if key not in _UNTOLD}
    told = {key: value for key, value in settings.items() if key not in _UNTOLD}
    others = [f"{key} {value}" for key, value in list_differences(known, told).items()]
    quick = "quick " if settings.get("evaluate.num_sentences") is not None else ""
    return quick + ", ".join([name_run(path), f"beam {settings['search.beam_size']}", *others])


def put_score(name: str, bleu: float) -> str:
    """An evaluation's name behind its BLEU, which lists show even where they cut the rest."""
    return f"{bleu:.2f} {_SCORE.sub('', name)}"[:_MAX_CHARACTERS]


def list_differences(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    """What `values` has otherwise than `base`, by the shortest name that is no other's.

    Args:
        base: flat params.
        values: flat params.
    """
    different = {
        key: value for key, value in values.items() if key not in base or base[key] != value
    }
    names = Counter(key.rsplit(".", 1)[-1] for key in {*base, *values})

    def shorten(key: str) -> str:
        last = key.rsplit(".", 1)[-1]
        return last if names[last] == 1 and len(last) >= _MIN_NAME else key

    return {shorten(key): _word(value) for key, value in different.items()}


def _told(params: Mapping[str, Any]) -> dict[str, Any]:
    section = "pretrain"  # it has a whole section `train` of its own
    return {
        key: value
        for key, value in flatten(params).items()
        if key == f"{section}.kind" or not key.startswith(f"{section}.")
    }


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
