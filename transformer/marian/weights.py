"""A MarianMT model's tensors under this project's names, and back."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.positions import sinusoidal_positions
from transformer.model.transformer import Transformer
from transformer.model.weights import Weights, model_weights

SAFETENSORS = "model.safetensors"
PICKLED = "pytorch_model.bin"
_BIAS = "final_logits_bias"
# Of a layer: our names, theirs.
_PARTS = {
    "self_attention.out_proj": "self_attn.out_proj",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention.out_proj": "encoder_attn.out_proj",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.linear1": "fc1",
    "feed_forward.linear2": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
# Theirs of an attention, whose queries, keys and values we stack.
_ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
_STACKED = ("q_proj", "k_proj", "v_proj")
# The tables of tokens, ours and theirs; tied ones stand under any of their names.
_SHARED = "model.shared.weight"
_TABLES = {
    "source_embedding.tokens.weight": "model.encoder.embed_tokens.weight",
    "target_embedding.tokens.weight": "model.decoder.embed_tokens.weight",
    "output_projection.weight": "lm_head.weight",
}
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def read_state(folder: Path) -> Weights:
    """The tensors of `model.safetensors`, else of `pytorch_model.bin`, as float32.

    The latter is a pickle, which is read without running what it may ask for.

    Raises:
        ValueError: neither is there, or it is damaged or holds other than tensors.
    """
    path = folder / SAFETENSORS
    try:
        if path.is_file():
            state = load_file(path)
        else:
            path = folder / PICKLED
            if not path.is_file():
                raise ValueError(f"{folder}: neither {SAFETENSORS} nor {PICKLED} is there")
            state = torch.load(path, map_location="cpu", weights_only=True)
    except ValueError:
        raise
    except (SafetensorError, OSError, EOFError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except Exception as error:  # pickle and torch raise what they like
        raise ValueError(f"{path} holds other than tensors, and is not read: {error}") from error
    if not isinstance(state, dict) or not all(isinstance(v, Tensor) for v in state.values()):
        raise ValueError(f"{path} holds other than tensors by name, and is not read")
    return {name: value.float() for name, value in state.items()}


def to_ours(state: Mapping[str, Tensor], model: Transformer, where: str) -> Weights:
    """Weights for `model`, as `model_weights` names them.

    Args:
        state: as `read_state` gives it.
        model: of the folder's shape; it is not changed, and may have no values (`meta`).
        where: named in errors.

    Raises:
        ValueError: tensors are missing, unknown, of another shape or not finite: each by its name.
    """
    problems: list[str] = []
    used = {_SHARED, *_POSITIONS, *_TABLES.values()}

    def take(name: str, shape: torch.Size) -> Tensor | None:
        names = _table_names(name, model.config) if name in _TABLES.values() else [name]
        found = next((one for one in names if one in state), None)
        used.update(names)
        if found is None:
            problems.append(f"{name} is missing")
        elif state[found].shape != shape:
            problems.append(f"{found} is {list(state[found].shape)}, not {list(shape)}")
        elif not state[found].isfinite().all():
            problems.append(f"{found} has values that are not finite")
        else:
            return state[found]
        return None

    weights: Weights = {}
    for name, value in model_weights(model).items():
        theirs = _their_names(name)
        if name == "output_projection.bias":
            shape = torch.Size([1, len(value)])
        else:
            shape = torch.Size([len(value) // len(theirs), *value.shape[1:]])
        parts = [part for one in theirs if (part := take(one, shape)) is not None]
        if len(parts) == len(theirs):
            weights[name] = torch.cat(parts).reshape(value.shape)
    problems += [f"{name} is unknown" for name in state if name not in used]
    wanted = model.config.max_positions, model.config.d_model
    for name in _POSITIONS:
        table = state.get(name)
        if table is not None and not (
            tuple(table.shape) == wanted
            and torch.allclose(table, sinusoidal_positions(*wanted, in_halves=True), atol=1e-4)
        ):
            problems.append(f"{name} is not the table of sines and cosines that Marian has")
    if problems:
        shown = problems[:10] + (["…"] if len(problems) > 10 else [])
        raise ValueError(f"{where}: the weights don't fit config.json:\n  " + "\n  ".join(shown))
    return weights


def to_marian(model: Transformer) -> Weights:
    """The tensors of a model under MarianMT's names, copies; tied ones once."""
    weights: Weights = {}
    for name, value in model_weights(model).items():
        theirs = _their_names(name)
        for one, part in zip(theirs, value.chunk(len(theirs)), strict=True):
            weights[one] = part.clone()
    tie = model.config.tie_embeddings
    if tie == "all":
        table = next(weights.pop(name) for name in _TABLES.values() if name in weights)
        weights[_SHARED] = table
    size = model.output_projection.out_features
    weights[_BIAS] = weights.get(_BIAS, torch.zeros(size)).reshape(1, -1)
    return weights


def _their_names(name: str) -> list[str]:
    """Where a tensor of ours stands there; several that are stacked here."""
    if name in _TABLES:
        return [_TABLES[name]]
    if name == "output_projection.bias":
        return [_BIAS]
    stack, layer, rest = name.split(".", 2)
    prefix = f"model.{stack}.layers.{layer}"
    part, kind = rest.rsplit(".", 1)
    attention, _, projection = part.partition(".")
    if projection == "in_proj":
        return [f"{prefix}.{_ATTENTIONS[attention]}.{one}.{kind}" for one in _STACKED]
    return [f"{prefix}.{_PARTS[part]}.{kind}"]


def _table_names(name: str, config: ModelConfig) -> list[str]:
    """Under which names a table may stand: its own, then those of what it is tied to."""
    source, target, output = _TABLES.values()
    if config.tie_embeddings == "all":
        return [_SHARED, source, target, output]
    if name == source:
        return [source, _SHARED]
    if config.tie_embeddings == "output":
        return [target, output, _SHARED]
    return [name, _SHARED] if name == target else [name]
