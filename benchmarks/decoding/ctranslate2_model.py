"""Our weights as CTranslate2 lays them out, by its variables' names.

An attention's first linear map holds queries, keys and values stacked (self-attention), or is
followed by one for keys and values (cross-attention), just as our `in_proj` is cut.
"""

from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from benchmarks.decoding.ctranslate2_engine import TokenNames
from benchmarks.harness.environment import Environment, UnavailableError, run_command
from transformer.export.shortlist.choose import Shortlist
from transformer.files import write_json
from transformer.model.attention import MultiHeadAttention
from transformer.model.checkpoint import CheckpointInfo
from transformer.model.embedding import Embedding
from transformer.model.layers import DecoderLayer, EncoderLayer, FeedForward
from transformer.model.transformer import Transformer
from transformer.text.special_tokens import SpecialIds

ARRAYS = "weights.npz"
SHAPE = "shape.json"
MAPPING = "mapping.txt"

ENVIRONMENT = Environment("ctranslate2", ("ctranslate2==4.8.5", "numpy==2.4.6", "pyyaml==6.0.3"))
QUANTIZATIONS = ("float32", "int8")

Arrays = dict[str, npt.NDArray[np.float32]]


def convert_model(
    python: Path,
    folder: Path,
    model: Transformer,
    info: CheckpointInfo,
    shortlist: Shortlist | None,
) -> None:
    """Writes float32 and int8 models, by the names of `QUANTIZATIONS`, into a folder.

    Args:
        python: that of CTranslate2's environment.
        folder: a temporary one.
        model: with the weights.
        info: of the same checkpoint.
        shortlist: as the export made it, if it did.

    Raises:
        UnavailableError: CTranslate2 has no such model, or the conversion failed.
    """
    try:
        write_model(folder, model, info, shortlist)
    except ValueError as error:
        raise UnavailableError(str(error)) from error
    module = [str(python), "-m", "benchmarks.decoding.ctranslate2_engine"]
    for kind in QUANTIZATIONS:
        run_command([*module, "convert", str(folder), kind, str(folder / kind)])


def write_model(
    folder: Path, model: Transformer, info: CheckpointInfo, shortlist: Shortlist | None = None
) -> None:
    """Writes all that `ctranslate2_engine` needs, for an environment without torch.

    Raises:
        ValueError: CTranslate2 knows no such model.
    """
    arrays = layout(model)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ARRAYS).open("wb") as file:
        np.savez(file, **cast(Any, arrays))
    write_json(folder / SHAPE, shape(model))
    names = TokenNames(
        name_tokens(info.source_vocab_size, info.source),
        name_tokens(info.target_vocab_size, info.target),
    )
    names.save(folder)
    if shortlist is not None:
        write_mapping(folder / MAPPING, names, shortlist)


def name_tokens(size: int, special: SpecialIds) -> list[str]:
    """Names of `size` ids: the marks' usual ones, and the number itself for all others."""
    names = [str(id) for id in range(size)]
    names[special.pad_id], names[special.unk_id] = "<pad>", "<unk>"
    names[special.bos_id], names[special.eos_id] = "<s>", "</s>"
    return names


def write_mapping(path: Path, names: TokenNames, shortlist: Shortlist) -> None:
    """Our short-lists as CTranslate2's vocabulary mapping: a source token, a tab, target tokens.

    The line without a source token tells what every sentence may use.
    """
    lines = ["\t" + " ".join(names.target[id] for id in shortlist.frequent)]
    for source, targets in zip(names.source, shortlist.by_source.tolist(), strict=True):
        lines.append(f"{source}\t" + " ".join(names.target[id] for id in dict.fromkeys(targets)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shape(model: Transformer) -> dict[str, Any]:
    """What CTranslate2 must know of a model besides its weights.

    Raises:
        ValueError: it has no such form.
    """
    config = model.config
    if config.norm == "none":
        raise ValueError(
            "CTranslate2 has no Transformer without layer norm (model.norm = 'none'); leave its "
            "contenders out with --contenders, or train a model with model.norm = 'pre' or 'post'"
        )
    if config.layer_norm_variant != "standard":
        raise ValueError(
            "CTranslate2's layer norm divides by the root of the biased variance; leave its "
            "contenders out with --contenders, or train a model with "
            "model.layer_norm_variant = 'standard'"
        )
    return {
        "num_encoder_layers": config.num_encoder_layers,
        "num_decoder_layers": config.num_decoder_layers,
        "num_heads": config.num_heads,
        "is_pre_norm": config.norm == "pre",
        "activation": config.activation,
        "norm_epsilon": config.norm_epsilon,
        "scale_embeddings": config.scale_embeddings,
    }


def layout(model: Transformer) -> Arrays:
    """Every weight by the name of CTranslate2's variable; copies, tied ones as often as used.

    Raises:
        ValueError: it has no such form.
    """
    shape(model)
    arrays: Arrays = {}
    for side, embedding in (
        ("encoder/embeddings_0", model.source_embedding),
        ("decoder/embeddings", model.target_embedding),
    ):
        arrays[f"{side}/weight"] = _array(embedding.tokens.weight)
        stack = side.partition("/")[0]
        arrays[f"{stack}/position_encodings/encodings"] = _positions(embedding)
    for index, encoder_layer in enumerate(cast(list[EncoderLayer], list(model.encoder))):
        name = f"encoder/layer_{index}"
        arrays |= _self_attention(f"{name}/self_attention", encoder_layer.self_attention)
        arrays |= _norm(f"{name}/self_attention", encoder_layer.self_attention_residual.norm)
        arrays |= _feed_forward(f"{name}/ffn", encoder_layer.feed_forward)
        arrays |= _norm(f"{name}/ffn", encoder_layer.feed_forward_residual.norm)
    for index, layer in enumerate(cast(list[DecoderLayer], list(model.decoder))):
        name = f"decoder/layer_{index}"
        arrays |= _self_attention(f"{name}/self_attention", layer.self_attention)
        arrays |= _norm(f"{name}/self_attention", layer.self_attention_residual.norm)
        arrays |= _cross_attention(f"{name}/attention", layer.cross_attention)
        arrays |= _norm(f"{name}/attention", layer.cross_attention_residual.norm)
        arrays |= _feed_forward(f"{name}/ffn", layer.feed_forward)
        arrays |= _norm(f"{name}/ffn", layer.feed_forward_residual.norm)
    if model.config.norm == "pre":
        arrays |= _norm("encoder", model.encoder_norm) | _norm("decoder", model.decoder_norm)
    return arrays | _linear("decoder/projection", model.output_projection)


def _positions(embedding: Embedding) -> npt.NDArray[np.float32]:
    if embedding.positions is None:  # left unset, CTranslate2 adds sines and cosines
        return np.zeros((embedding.max_positions, embedding.tokens.embedding_dim), np.float32)
    return _array(embedding.positions)


def _self_attention(name: str, attention: MultiHeadAttention) -> Arrays:
    stacked, output = attention.in_proj, attention.out_proj
    return _linear(f"{name}/linear_0", stacked) | _linear(f"{name}/linear_1", output)


def _cross_attention(name: str, attention: MultiHeadAttention) -> Arrays:
    weight, bias = attention.in_proj.weight, attention.in_proj.bias
    width = weight.shape[1]
    return {
        f"{name}/linear_0/weight": _array(weight[:width]),
        f"{name}/linear_0/bias": _array(bias[:width]),
        f"{name}/linear_1/weight": _array(weight[width:]),
        f"{name}/linear_1/bias": _array(bias[width:]),
    } | _linear(f"{name}/linear_2", attention.out_proj)


def _feed_forward(name: str, feed_forward: FeedForward) -> Arrays:
    inner, outer = feed_forward.linear1, feed_forward.linear2
    return _linear(f"{name}/linear_0", inner) | _linear(f"{name}/linear_1", outer)


def _linear(name: str, linear: nn.Linear) -> Arrays:
    arrays = {f"{name}/weight": _array(linear.weight)}
    if linear.bias is not None:
        arrays[f"{name}/bias"] = _array(linear.bias)
    return arrays


def _norm(name: str, norm: nn.Module) -> Arrays:
    assert isinstance(norm, nn.LayerNorm)
    return {
        f"{name}/layer_norm/gamma": _array(norm.weight),
        f"{name}/layer_norm/beta": _array(norm.bias),
    }


def _array(tensor: Tensor) -> npt.NDArray[np.float32]:
    # A copy: CTranslate2 quantises in place, which would spoil what shares the memory.
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32)
