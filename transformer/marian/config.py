"""`config.json` of a MarianMT folder: the model's shape in this project's terms, and back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from transformer.config import parse_section
from transformer.files import read_json
from transformer.model.config import ModelConfig
from transformer.text.special_tokens import SpecialIds

CONFIG = "config.json"
GENERATION = "generation_config.json"
# What every MarianMT model has; older folders say it, with these values.
_FIXED = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "extra_pos_embeddings": 0,
    "add_bias_logits": False,
}
# Their names of activations, and ours.
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
# What layer norms of PyTorch have by default, which Marian's are.
_NORM_EPSILON = 1e-5
# Ours, where theirs must be one number for both sides.
_PAIRS = {
    "num_heads": ("encoder_attention_heads", "decoder_attention_heads"),
    "d_ff": ("encoder_ffn_dim", "decoder_ffn_dim"),
}


class MarianConfig(NamedTuple):
    """What a folder says of its model."""

    model: ModelConfig
    source_vocab_size: int
    target_vocab_size: int
    is_shared: bool  # one vocabulary for both sides
    pad_id: int  # opens the target too
    eos_id: int
    search: dict[str, Any]  # values of the section `search` that the folder names


def read_config(folder: Path) -> MarianConfig:
    """Reads `config.json`, and `generation_config.json` where there is one.

    Raises:
        ValueError: a file is missing or damaged, or the model has no form here: every reason.
    """
    path = folder / CONFIG
    values = _read_mapping(path)
    if values.get("model_type") != "marian":
        raise ValueError(
            f"{path}: model_type = {values.get('model_type')!r}; only 'marian' is read"
        )
    problems = [
        f"{key} = {values[key]!r}: only {wanted!r} is read"
        for key, wanted in _FIXED.items()
        if values.get(key, wanted) != wanted
    ]
    for one, other in _PAIRS.values():
        if values.get(one) != values.get(other):
            problems.append(f"{one} = {values.get(one)!r}, {other} = {values.get(other)!r}: differ")
    activation = values.get("activation_function")
    if activation not in _ACTIVATIONS:
        problems.append(f"activation_function = {activation!r}: read are {', '.join(_ACTIVATIONS)}")
    whole = ("vocab_size", "pad_token_id", "eos_token_id", "decoder_start_token_id")
    sizes: dict[str, Any] = {key: values.get(key) for key in whole}
    sizes["decoder_vocab_size"] = values.get("decoder_vocab_size") or values.get("vocab_size")
    for key, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            problems.append(f"{key} = {value!r}: expected a number of 0 or more")
    if sizes["decoder_start_token_id"] != sizes["pad_token_id"]:
        problems.append(
            f"decoder_start_token_id = {sizes['decoder_start_token_id']!r}: only pad_token_id = "
            f"{sizes['pad_token_id']!r} is read"
        )
    shared = values.get("share_encoder_decoder_embeddings", True) is True
    tied = values.get("tie_word_embeddings", True) is True
    model, wrong = parse_section(
        ModelConfig,
        str(path),
        {
            "num_encoder_layers": values.get("encoder_layers"),
            "num_decoder_layers": values.get("decoder_layers"),
            "d_model": values.get("d_model"),
            **{name: values.get(one) for name, (one, _) in _PAIRS.items()},
            "dropout": values.get("dropout", 0.1),
            "embedding_dropout": None,
            "attention_dropout": values.get("attention_dropout", 0.0),
            "norm": "post",
            "norm_epsilon": _NORM_EPSILON,
            "layer_norm_variant": "standard",
            "position_encoding": "sinusoidal_halves",
            "max_positions": values.get("max_position_embeddings"),
            "activation": _ACTIVATIONS.get(str(activation), "relu"),
            "scale_embeddings": values.get("scale_embedding"),
            "tie_embeddings": ("all" if shared else "output") if tied else "none",
            "output_bias": True,
            "initial_weights": "xavier",
        },
    )
    problems += [line.removeprefix(f"{path}.") for line in wrong]
    if problems or model is None:
        raise ValueError(f"{path} has no form here:\n  " + "\n  ".join(problems))
    return MarianConfig(
        model,
        sizes["vocab_size"],
        sizes["vocab_size"] if shared else sizes["decoder_vocab_size"],
        shared,
        sizes["pad_token_id"],
        sizes["eos_token_id"],
        _read_search(folder, values),
    )


def describe_config(
    model: ModelConfig, sizes: tuple[int, int], target: SpecialIds, *, is_shared: bool
) -> dict[str, Any]:
    """`config.json` of a model of ours.

    Args:
        model: its shape.
        sizes: of the source vocabulary and the target's.
        target: the special tokens.
        is_shared: whether one vocabulary serves both sides.

    Raises:
        ValueError: MarianMT has no such shape: every reason.
    """
    wanted = {
        "norm": "post",
        "layer_norm_variant": "standard",
        "norm_epsilon": _NORM_EPSILON,
        "position_encoding": "sinusoidal_halves",
    }
    problems = [
        f"model.{key} = {getattr(model, key)!r}: MarianMT has {value!r}"
        for key, value in wanted.items()
        if getattr(model, key) != value
    ]
    if problems:
        raise ValueError("the model has no form in MarianMT:\n  " + "\n  ".join(problems))
    names = {ours: theirs for theirs, ours in reversed(_ACTIVATIONS.items())}
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "share_encoder_decoder_embeddings": is_shared and model.tie_embeddings == "all",
        "tie_word_embeddings": model.tie_embeddings != "none",
        "encoder_layers": model.num_encoder_layers,
        "decoder_layers": model.num_decoder_layers,
        "d_model": model.d_model,
        **{name: getattr(model, ours) for ours, pair in _PAIRS.items() for name in pair},
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_function": names[model.activation],
        "scale_embedding": model.scale_embeddings,
        "max_position_embeddings": model.max_positions,
        "pad_token_id": target.pad_id,
        "eos_token_id": target.eos_id,
        "forced_eos_token_id": target.eos_id,
        "decoder_start_token_id": target.bos_id,
        "bos_token_id": None,
    }


def _read_search(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    # Older folders have these in `config.json`.
    path = folder / GENERATION
    values = {**config, **(_read_mapping(path) if path.is_file() else {})}
    found = {
        "beam_size": values.get("num_beams"),
        "length_penalty": values.get("length_penalty"),
        "patience": 1.0 if values.get("early_stopping") is True else None,
    }
    return {key: value for key, value in found.items() if value is not None or key == "patience"}


def _read_mapping(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{path}: no such file; a MarianMT folder has one")
    values = read_json(path)
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a mapping of names to values")
    return values
