"""Small models and their graphs, exported once for all tests."""

import pytest
import torch

from transformer.decoding.beam import SpecialIds
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

# Where a tokenizer fitted in this project has them; 1 is the unknown mark.
PAD, BOS, EOS = 0, 2, 3
SPECIAL = SpecialIds(pad=PAD, bos=BOS, eos=EOS)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_model(seed=0, source_vocab_size=12, target_vocab_size=14, sharpness=4.0, **changes):
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
        model.projection.weight.mul_(sharpness)
    return model


def export(model, attention, precision="float32"):
    from transformer.export.graph import build_graph

    return build_graph(
        model, source_pad=PAD, special=SPECIAL, attention=attention, precision=precision
    )


def open_graph(graph):
    import onnxruntime

    from transformer.export.graph import serialise

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(serialise(graph), options, providers=providers)


@pytest.fixture(scope="session")
def model():
    """Pre-norm, sinusoidal positions, ReLU, nothing shared: the shape most tests use."""
    return make_model()


@pytest.fixture(scope="session")
def fused_graph(model):
    return export(model, "fused")


@pytest.fixture(scope="session")
def fused(fused_graph):
    return open_graph(fused_graph)


@pytest.fixture(scope="session")
def int8_graph(model):
    return export(model, "fused", "int8")


@pytest.fixture(scope="session")
def portable_graph(model):
    return export(model, "portable")


@pytest.fixture(scope="session")
def portable(portable_graph):
    return open_graph(portable_graph)


@pytest.fixture(scope="session")
def shared_model():
    """Post-norm, learned positions, GELU, one embedding for all; trained to copy for a moment."""
    model = make_model(
        1, 400, 400, 1.0, d_model=64, norm="post", positions="learned", activation="gelu",
        scale_embeddings=False, tie_embeddings="all", dropout=0.0, attention_dropout=0.0,
    ).train()  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(120):
        words = torch.randint(4, 20, (32, 5), generator=generator)
        source = torch.cat([words, torch.full((32, 1), EOS)], 1)
        target = torch.cat([torch.full((32, 1), BOS), source], 1)
        logits = model(source, None, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


@pytest.fixture(scope="session")
def shared_graph(shared_model):
    return export(shared_model, "fused")


@pytest.fixture(scope="session")
def shared(shared_graph):
    return open_graph(shared_graph)
