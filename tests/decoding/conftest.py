"""Small models whose next-token distributions are far from uniform."""

import pytest
import torch

from transformer.decoding.beam import SpecialIds
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

PAD, BOS, EOS, UNK = 0, 1, 2, 3


@pytest.fixture(scope="session")
def special():
    return SpecialIds(pad=PAD, bos=BOS, eos=EOS)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_model(seed=0, source_vocab_size=12, target_vocab_size=12, sharpness=4.0, **changes):
    """A random model; `sharpness` spreads its logits so that choices matter."""
    values = {
        "num_encoder_layers": 1,
        "num_decoder_layers": 2,
        "d_model": 16,
        "num_heads": 2,
        "d_ff": 32,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "norm": "pre",
        "norm_epsilon": 1e-5,
        "positions": "sinusoidal",
        "max_positions": 40,
        "activation": "relu",
        "scale_embeddings": True,
        "tie_embeddings": "none",
    }
    torch.manual_seed(seed)
    config = ModelConfig(**(values | changes))
    model = Transformer(config, source_vocab_size, target_vocab_size).eval()
    with torch.no_grad():
        model.projection.weight.mul_(sharpness)
    return model


@pytest.fixture(scope="session")
def model_maker():
    return make_model


def make_batch(rows, pad=PAD):
    """Lists of ids -> padded ids [B, S] and mask [B, S]."""
    width = max(1, *(len(row) for row in rows))
    source = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    mask = torch.tensor([[True] * len(row) + [False] * (width - len(row)) for row in rows])
    return source, mask


@pytest.fixture(scope="session")
def batch_maker():
    return make_batch
