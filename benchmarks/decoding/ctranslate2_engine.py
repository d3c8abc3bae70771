"""All that runs in CTranslate2's environment: it holds no more than that and numpy.

python -m benchmarks.decoding.ctranslate2_engine convert FOLDER QUANTIZATION OUTPUT
python -m benchmarks.decoding.ctranslate2_engine serve WORK OPTIONS, a JSON of `load`'s arguments
"""

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.decoding.work import Loaded, Work, serve_engine


def convert(folder: Path, quantization: str, output: Path) -> None:
    """Writes the model of `folder`, of `ctranslate2_model`, to `output`.

    Args:
        folder: with weights.npz, shape.json and maybe mapping.txt.
        quantization: one of CTranslate2's, such as float32 or int8.
        output: a new folder.
    """
    import numpy as np
    from ctranslate2.specs import TransformerSpec, common_spec, transformer_spec

    values: dict[str, Any] = json.loads((folder / "shape.json").read_text())
    kinds = common_spec.Activation
    activations = {"relu": kinds.RELU, "gelu": kinds.GELU, "swish": kinds.SWISH}
    common = {
        "num_heads": values["num_heads"],
        "pre_norm": values["is_pre_norm"],
        "activation": activations[values["activation"]],
        "rotary_dim": values["rotary_dim"],
    }
    spec = TransformerSpec(
        transformer_spec.TransformerEncoderSpec(values["num_encoder_layers"], **common),
        transformer_spec.TransformerDecoderSpec(values["num_decoder_layers"], **common),
    )
    with np.load(folder / "weights.npz") as arrays:
        for name in arrays.files:
            set_variable(spec, name, arrays[name])  # each access reads a fresh copy
    spec.encoder.scale_embeddings = values["scale_embeddings"]
    spec.decoder.scale_embeddings = values["scale_embeddings"]
    spec.config.layer_norm_epsilon = values["norm_epsilon"]
    spec.config.decoder_start_token = spec.config.bos_token = str(values["bos_id"])
    spec.config.eos_token, spec.config.unk_token = str(values["eos_id"]), str(values["unk_id"])
    spec.config.add_source_eos = False  # our sources have it
    # It speaks in strings: a token's name is its id.
    spec.register_source_vocabulary([str(id) for id in range(values["source_vocab_size"])])
    spec.register_target_vocabulary([str(id) for id in range(values["target_vocab_size"])])
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


class Batch(NamedTuple):
    """One batch: source tokens by name, and the most target tokens of its longest limit."""

    sources: list[list[str]]
    max_length: int


class CTranslate2Engine:
    """CTranslate2's `translate_batch`.

    Args:
        translator: a `ctranslate2.Translator`.
        length_penalty: exponent of its own penalty, length ** exponent.
        num_workers: batches that it translates side by side; a batch is cut into so many.
        uses_shortlist: whether it uses its vocabulary mapping.
    """

    def __init__(
        self,
        translator: Any,
        length_penalty: float,
        num_workers: int,
        uses_shortlist: bool,
    ) -> None:
        self.translator = translator
        self.length_penalty = length_penalty
        self.num_workers = num_workers
        self.uses_shortlist = uses_shortlist

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Batch:
        """Token names for ids; one limit for the batch, since it takes no more."""
        return Batch([[str(id) for id in ids] for ids in sources], max(max_lengths))

    def run(self, batch: Batch, beam_size: int) -> Any:
        """One call; with several workers on equal shares of the batch."""
        share = -(-len(batch.sources) // self.num_workers)
        return self.translator.translate_batch(
            batch.sources,
            max_batch_size=share if self.num_workers > 1 else 0,
            beam_size=beam_size,
            length_penalty=self.length_penalty,
            max_decoding_length=batch.max_length,
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self.uses_shortlist,
            return_end_token=True,
        )

    def read(self, result: Any) -> list[list[int]]:
        """Ids of its best hypotheses."""
        return [[int(name) for name in one.hypotheses[0]] for one in result]


def load(
    work: Work,
    path: str,
    compute_type: str,
    num_threads: int,
    num_workers: int,
    uses_shortlist: bool,
) -> Loaded:
    """A converted model; `num_threads` are those of one worker."""
    import ctranslate2

    started = time.perf_counter()
    translator = ctranslate2.Translator(
        path,
        device="cpu",
        compute_type=compute_type,
        inter_threads=num_workers,
        intra_threads=num_threads,
    )
    seconds = time.perf_counter() - started
    engine = CTranslate2Engine(
        translator, work.options["length_penalty"], num_workers, uses_shortlist
    )
    return Loaded(engine, seconds, ctranslate2.__version__)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "convert":
        convert(Path(arguments[0]), arguments[1], Path(arguments[2]))
    else:
        task = Work.load(Path(arguments[0]))
        serve_engine(partial(load, task, **json.loads(arguments[1])), task)
