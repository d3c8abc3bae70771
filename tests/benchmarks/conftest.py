"""Small models with sharp distributions, and measurements without a machine."""

import pytest
import torch

from benchmarks.measuring import Measurement
from benchmarks.sampling import Cell
from benchmarks.variants import Variant
from transformer.decoding.beam import SpecialIds
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def special():
    return SpecialIds(pad=0, bos=2, eos=3)


@pytest.fixture(scope="session")
def make_model():
    def make(seed=0, source_vocab_size=12, target_vocab_size=12, **changes):
        values = {
            "num_encoder_layers": 2,
            "num_decoder_layers": 1,
            "d_model": 16,
            "num_heads": 2,
            "d_ff": 32,
            "dropout": 0.1,
            "attention_dropout": 0.0,
            "norm": "pre",
            "norm_epsilon": 1e-5,
            "positions": "sinusoidal",
            "max_positions": 24,
            "activation": "relu",
            "scale_embeddings": True,
            "tie_embeddings": "none",
        }
        torch.manual_seed(seed)
        config = ModelConfig(**(values | changes))
        model = Transformer(config, source_vocab_size, target_vocab_size).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):  # zeros at first, which would hide a bias left out
                    parameter.normal_(std=0.2)
            model.projection.weight.mul_(4.0)
        return model

    return make


@pytest.fixture(scope="session")
def measured():
    """Measurements of a contender: its speeds round by round, batch 1, greedy."""

    def make(contender, speeds, threads=1):
        variant = Variant(contender, threads)
        return [
            Measurement(variant, Cell(1, 1), index, 2.0, int(2 * speed), 0.0)
            for index, speed in enumerate(speeds)
        ]

    return make
