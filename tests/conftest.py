"""Fixtures that tests of several parts share."""

import json
import math
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

# Of a small model, the section `model`.
MODEL = {
    "num_encoder_layers": 1,
    "num_decoder_layers": 2,
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "norm": "pre",
    "norm_epsilon": 1e-5,
    "layer_norm_variant": "standard",
    "position_encoding": "sinusoidal",
    "max_positions": 40,
    "activation": "relu",
    "scale_embeddings": True,
    "tie_embeddings": "none",
    "output_bias": True,
    "embedding_dropout": None,
    "initial_weights": "xavier",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files with slow tests first, whole pipelines before all others."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: ("integration" not in item.path.parts, item.path not in slow))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands out files, but the tests of the export as one: they share graphs that take long."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "tests/export" if file.startswith("tests/export/") else file

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, connected to; tests may end and add nodes."""
    pytest.importorskip("ray", reason="the extra `cluster` is not installed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "PYTHONPATH": str(Path.cwd()),  # its workers import the tests' functions
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "300",
        }.items():
            patch.setenv(name, value)
        import ray
        from ray.cluster_utils import Cluster

        # Shut down below; at exit it would be by signal handlers that stay.
        head, usual = {"num_cpus": 1}, signal.getsignal(signal.SIGTERM)
        nodes = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        nodes.add_node(num_cpus=1)
        ray.init(address=nodes.address, logging_level="ERROR")
        signal.signal(signal.SIGTERM, usual)  # in place of Ray's
        yield nodes
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture(scope="session")
def special() -> Any:
    """The special ids that tests of search and its translations use."""
    from transformer.text.special_tokens import SpecialIds

    return SpecialIds(pad_id=0, unk_id=3, bos_id=1, eos_id=2)


@pytest.fixture(scope="session")
def make_options() -> Callable[..., Any]:
    """Makes the options of a search; keyword arguments replace the usual ones."""

    def make(**changes: Any) -> Any:
        from transformer.search.options import SearchOptions

        values = {
            "beam_size": 4,
            "num_best": 1,
            "length_penalty": 0.6,
            "patience": math.inf,
            "max_length_factor": 2.0,
            "max_length_extra": 10,
            "max_positions": 40,
        }
        return SearchOptions(**(values | changes))

    return make


@pytest.fixture(scope="session")
def model_maker() -> Callable[..., Any]:
    """Makes small random models, by config and vocabulary sizes.

    `sharpness` spreads a model's logits so that choices matter; `with_biases` draws its biases,
    whose zeros at first would hide one that is left out.
    """

    def make(
        seed: int = 0,
        source_vocab_size: int = 12,
        target_vocab_size: int = 12,
        sharpness: float = 4.0,
        with_biases: bool = False,
        **changes: Any,
    ) -> Any:
        import torch

        from transformer.model.config import ModelConfig
        from transformer.model.transformer import Transformer

        torch.manual_seed(seed)
        config = ModelConfig(**(MODEL | changes))
        model = Transformer(config, source_vocab_size, target_vocab_size).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if with_biases and name.endswith("bias"):
                    parameter.normal_(std=0.2)
            model.output_projection.weight.mul_(sharpness)
        return model

    return make


@pytest.fixture
def make_translator(tmp_path: Path) -> Callable[..., Path]:
    """Writes a translator whose graph copies its source: "un chat" becomes "UN CHAT".

    It holds 8 source tokens. Keyword arguments replace entries of the card, and of its dicts,
    before it is sealed;
    hypothesis n scores -n - length_penalty / 10 - beam_size / 100. Without `words` it has no list
    of the words that it knows.
    """

    def make(name: str = "translator", words: Sequence[str] | None = None, **changes: Any) -> Path:
        from tokenizers import Tokenizer, models, pre_tokenizers

        from transformer.files import sha256_file
        from transformer.serving.card import seal
        from transformer.text.special_tokens import SPECIAL_TOKENS
        from transformer.text.tokenizer import Tokenizer as OurTokenizer
        from transformer.text.tokenizer import TokenizerPair
        from transformer.text.word_list import WORDS, write_words

        def replaced(entry: Any, change: Any) -> Any:
            if not isinstance(change, dict):
                return change
            return entry | {key: replaced(entry.get(key, {}), change[key]) for key in change}

        folder = tmp_path / name
        vocabulary = ["un", "deux", "trois", "quatre", "chat", "chien", "dort", ".", "!", "?"]

        def fit(words: list[str]) -> OurTokenizer:
            ids = {word: id for id, word in enumerate([*SPECIAL_TOKENS, *words])}
            fast = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
            fast.pre_tokenizer = pre_tokenizers.Whitespace()
            fast.add_special_tokens(list(SPECIAL_TOKENS))
            return OurTokenizer(fast.to_str())

        pair = TokenizerPair(fit(vocabulary), fit([word.upper() for word in vocabulary]))
        pair.save(folder)
        (folder / "translator.onnx").write_bytes(_copying_graph(pair.source.pad_id))
        (folder / "translator.int8.onnx").write_bytes(_copying_graph(pair.source.pad_id))
        if words is not None:
            write_words(folder / WORDS, words)
        side = {"lowercase": True, "strip_punctuation": False, "fold_typography": True}
        ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
        graph = {
            "passed": True,
            "problems": [],
            "size_bytes": 1,
            "measured_on": "cpu",
            "bleu": 100.0,
            "signature": "nrefs:1",
            "bleu_loss": 0.0,
            "bleu_loss_low": 0.0,
            "bleu_loss_high": 0.0,
            "identical_share": 1.0,
            "max_score_difference": 0.0,
            "max_logit_difference": 0.0,
        }
        left_out = {"file": None, "passed": False, "problems": ["BLEU is 1.00 less"]}
        card: dict[str, Any] = {
            "format": 7,
            "source_language": "fr",
            "target_language": "en",
            "special_ids": {"source": ids, "target": ids},
            "normalization": {"source": side, "target": side},
            "search": {
                "beam_size": 4,
                "length_penalty": 1.0,
                "patience": None,
                "max_length_factor": 2.0,
                "max_length_extra": 2,
            },
            "max_source_tokens": 8,
            "max_target_tokens": 20,
            "interface": {
                "opset": 20,
                "attention": "portable",
                "inputs": [
                    "source",
                    "max_length",
                    "length_penalty",
                    "patience",
                    "beam_size",
                    "num_best",
                ],
                "outputs": ["target", "scores", "lengths"],
            },
            "default_precision": {"cpu": "int8", "cuda": "float32"},
            "graphs": {
                "float32": graph | {"file": "translator.onnx"},
                "int8": graph | {"file": "translator.int8.onnx"},
                "float16": graph | left_out,
            },
            "shortlist": None,
            "files": {file.name: sha256_file(file) for file in folder.iterdir()},
            "tokenizer_sha256": pair.sha256,
            "model": {
                "num_parameters": 9,
                "source_vocab_size": pair.source.size,
                "target_vocab_size": pair.target.size,
                "config": MODEL,
            },
            "model_hash": "0123abcd" * 8,
            "corpus": {
                "name": "toy",
                "license": "CC0-1.0",
                "origin": "here",
                "revision": None,
                "sha256": {},
            },
            "pytorch": {"bleu": 100.0, "signature": "nrefs:1"},
            "num_test_sentences": 9,
        }
        (folder / "translator.json").write_text(json.dumps(seal(replaced(card, changes))))
        return folder

    return make


def _copying_graph(pad_id: int) -> bytes:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    from onnx.checker import check_model

    def node(operator: str, inputs: str, output: str, **attributes: Any) -> Any:
        return helper.make_node(operator, inputs.split(), [output], **attributes)

    constants = {
        "pad": np.array(pad_id),
        "zero": np.array(0),
        "one": np.array(1),
        "one_1d": np.array([1]),
        "tenth": np.array(0.1, dtype=np.float32),
        "hundredth": np.array(0.01, dtype=np.float32),
    }
    nodes = [
        node("Equal", "source pad", "is_pad"),
        node("Not", "is_pad", "is_real"),
        node("Cast", "is_real", "ones", to=TensorProto.INT64),
        node("ReduceSum", "ones one_1d", "num_real", keepdims=1),  # [B, 1]
        node("Unsqueeze", "max_length one_1d", "limit"),
        node("Min", "num_real limit", "kept"),  # [B, 1]
        node("Shape", "source", "width", start=1, end=2),
        node("Squeeze", "width", "width_scalar"),
        node("Range", "zero width_scalar one", "positions"),
        node("Less", "positions kept", "is_kept"),  # [B, S]
        node("Where", "is_kept source pad", "copy"),
        node("Unsqueeze", "copy one_1d", "copy_3d"),  # [B, 1, S]
        node("Unsqueeze", "num_best zero_1d", "n"),
        node("Concat", "one_1d n one_1d", "shape_3d", axis=0),
        node("Expand", "copy_3d shape_3d", "target"),
        node("Concat", "one_1d n", "shape_2d", axis=0),
        node("Expand", "kept shape_2d", "lengths"),
        node("Range", "zero num_best one", "ranks"),
        node("Neg", "ranks", "minus_ranks"),
        node("Cast", "minus_ranks", "base", to=TensorProto.FLOAT),  # [N]
        node("Mul", "length_penalty tenth", "penalty"),
        node("Cast", "beam_size", "beams", to=TensorProto.FLOAT),
        node("Mul", "beams hundredth", "beam_part"),
        node("Sub", "base penalty", "partly"),
        node("Sub", "partly beam_part", "row_scores"),
        node("Shape", "lengths", "lengths_shape"),
        node("Expand", "row_scores lengths_shape", "scores"),
    ]
    constants["zero_1d"] = np.array([0])
    graph = helper.make_graph(
        nodes,
        "copy",
        [
            helper.make_tensor_value_info("source", TensorProto.INT64, ["B", "S"]),
            helper.make_tensor_value_info("max_length", TensorProto.INT64, ["B"]),
            helper.make_tensor_value_info("length_penalty", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("patience", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("beam_size", TensorProto.INT64, []),
            helper.make_tensor_value_info("num_best", TensorProto.INT64, []),
        ],
        [
            helper.make_tensor_value_info("target", TensorProto.INT64, ["B", "N", "T"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["B", "N"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B", "N"]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    check_model(model)
    return bytes(model.SerializeToString())
