"""Our weights as CTranslate2 lays them out, by its variables' names.

An attention's first linear map holds queries, keys and values stacked (self-attention), or is
followed by one for keys and values (cross-attention), just as our `in_proj` is cut.
"""

from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from benchmarks.harness.environment import Environment, UnavailableError, run_command
from transformer.export.shortlist.choose import Shortlist
from transformer.files import write_json
from transformer.model.attention import MultiHeadAttention
from transformer.model.checkpoint import CheckpointInfo
from transformer.model.embedding import Embedding
from transformer.model.layers import FeedForward
from transformer.model.transformer import Transformer

ARRAYS = "weights.npz"
SHAPE = "shape.json"
MAPPING = "mapping.txt"

ENVIRONMENT = Environment("ctranslate2", ("ctranslate2==4.8.5", "numpy==2.4.6", "pyyaml==6.0.3"))
QUANTIZATIONS = ("float32", "int8")

# Its names of the parts of a layer, and ours.
BLOCKS = {"self_attention": "self_attention", "attention": "cross_attention", "ffn": "feed_forward"}

Arrays = dict[str, npt.NDArray[np.float32]]
# Weight and bias.
Linear = tuple[Tensor, Tensor]


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
    special = info.target
    about = {
        "source_vocab_size": info.source_vocab_size,
        "target_vocab_size": info.target_vocab_size,
        "unk_id": special.unk_id,
        "bos_id": special.bos_id,
        "eos_id": special.eos_id,
    }
    write_json(folder / SHAPE, shape(model) | about)
    if shortlist is not None:
        write_mapping(folder / MAPPING, shortlist)


def write_mapping(path: Path, shortlist: Shortlist) -> None:
    """Our short-lists as CTranslate2's vocabulary mapping: a source token, a tab, target tokens.

    The line without a source token tells what every sentence may use.
    """
    lines = ["\t" + " ".join(map(str, shortlist.frequent))]
    for source, targets in enumerate(shortlist.by_source.tolist()):
        lines.append(f"{source}\t" + " ".join(map(str, dict.fromkeys(targets))))
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
    is_rotary = config.position_encoding == "rotary"
    return {
        "num_encoder_layers": config.num_encoder_layers,
        "num_decoder_layers": config.num_decoder_layers,
        "num_heads": config.num_heads,
        "is_pre_norm": config.norm == "pre",
        "activation": config.activation,
        "norm_epsilon": config.norm_epsilon,
        "scale_embeddings": config.scale_embeddings,
        # Of each head's features, in pairs of neighbors, as ours; null: positions are added.
        "rotary_dim": config.d_model // config.num_heads if is_rotary else None,
    }


def layout(model: Transformer) -> Arrays:
    """Every weight by the name of CTranslate2's variable; copies, tied ones as often as used.

    Raises:
        ValueError: it has no such form.
    """
    shape(model)
    arrays: Arrays = {}
    for stack, place, embedding in (
        ("encoder", "encoder/embeddings_0", model.source_embedding),
        ("decoder", "decoder/embeddings", model.target_embedding),
    ):
        arrays[f"{place}/weight"] = _array(embedding.tokens.weight)
        if model.config.position_encoding != "rotary":
            arrays[f"{stack}/position_encodings/encodings"] = _positions(embedding)
        for index, layer in enumerate(getattr(model, stack)):
            for part, attribute in BLOCKS.items():
                if not hasattr(layer, attribute):
                    continue
                name, block = f"{stack}/layer_{index}/{part}", getattr(layer, attribute)
                for number, linear in enumerate(_linears(block, is_cut=part == "attention")):
                    arrays |= _named(f"{name}/linear_{number}", linear)
                arrays |= _norm(name, getattr(layer, f"{attribute}_residual").norm)
    if model.config.norm == "pre":
        arrays |= _norm("encoder", model.encoder_norm) | _norm("decoder", model.decoder_norm)
    projection = model.output_projection
    return arrays | _named("decoder/projection", (projection.weight, projection.bias))


def _positions(embedding: Embedding) -> npt.NDArray[np.float32]:
    if embedding.positions is None:  # left unset, CTranslate2 adds sines and cosines
        return np.zeros((embedding.max_positions, embedding.tokens.embedding_dim), np.float32)
    return _array(embedding.positions)


def _linears(block: MultiHeadAttention | FeedForward, is_cut: bool) -> list[Linear]:
    # In the order of CTranslate2; its cross-attention has queries apart from keys and values.
    if isinstance(block, FeedForward):
        modules = block.linear1, block.linear2
    else:
        modules = block.in_proj, block.out_proj
    first, last = ((linear.weight, linear.bias) for linear in modules)
    if not is_cut:
        return [first, last]
    (weight, bias), width = first, first[0].shape[1]
    return [(weight[:width], bias[:width]), (weight[width:], bias[width:]), last]


def _named(name: str, linear: Linear) -> Arrays:
    weight, bias = linear
    arrays = {f"{name}/weight": _array(weight)}
    if bias is not None:
        arrays[f"{name}/bias"] = _array(bias)
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
