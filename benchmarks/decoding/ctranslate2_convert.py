"""Writes a CTranslate2 model from our weights, in an environment without torch.

python -m benchmarks.decoding.ctranslate2_convert FOLDER QUANTISATION OUTPUT
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decoding.ctranslate2_names import TokenNames


def convert(folder: Path, quantization: str, output: Path) -> None:
    """Writes the model of `folder`, of `ctranslate2_model`, to `output`.

    Args:
        folder: with weights.npz, shape.json, names.json.
        quantisation: one of CTranslate2's, such as float32 or int8.
        output: a new folder.
    """
    from ctranslate2.specs import TransformerSpec, common_spec

    values: dict[str, Any] = json.loads((folder / "shape.json").read_text())
    activations = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}
    spec = TransformerSpec.from_config(
        (values["num_encoder_layers"], values["num_decoder_layers"]),
        values["num_heads"],
        pre_norm=values["is_pre_norm"],
        activation=activations[values["activation"]],
    )
    with np.load(folder / "weights.npz") as arrays:
        for name in arrays.files:
            set_variable(spec, name, arrays[name])  # each access reads a fresh copy
    spec.encoder.scale_embeddings = values["scale_embeddings"]
    spec.decoder.scale_embeddings = values["scale_embeddings"]
    spec.config.layer_norm_epsilon = values["norm_epsilon"]
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False  # our sources have it
    names = TokenNames.load(folder)
    spec.register_source_vocabulary(names.source)
    spec.register_target_vocabulary(names.target)
    if (folder / "mapping.txt").exists():
        spec.register_vocabulary_mapping(str(folder / "mapping.txt"))
    spec.validate()
    spec.optimize(quantization=quantization)
    output.mkdir(parents=True)
    spec.save(str(output))


def set_variable(spec: Any, name: str, value: Any) -> None:
    """Sets `a/b_0/c` of a specification, where `b_0` may be an attribute or b's first entry."""
    *path, last = name.split("/")
    for part in path:
        if hasattr(spec, part):
            spec = getattr(spec, part)
        else:
            attribute, _, index = part.rpartition("_")
            spec = getattr(spec, attribute)[int(index)]
    setattr(spec, last, value)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
