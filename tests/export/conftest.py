"""Small models and their graphs, exported once for all tests."""

import pytest
import torch

from transformer.text.special_tokens import SpecialIds

# Where a tokenizer fitted in this project has them; 1 is the unknown token.
PAD, BOS, EOS = 0, 2, 3
SPECIAL = SpecialIds(pad_id=PAD, unk_id=1, bos_id=BOS, eos_id=EOS)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def export(model, attention, *precisions):
    from transformer.export.graph import build_graphs

    graphs = build_graphs(
        model, source_pad=PAD, special=SPECIAL, attention=attention, precisions=precisions
    )
    return dict(graphs)


def open_graph(graph):
    import onnxruntime

    from transformer.export.graph import serialize

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(serialize(graph.model), options, providers=providers)


@pytest.fixture(scope="session")
def opener():
    return open_graph


@pytest.fixture(scope="session")
def model(model_maker):
    """Pre-norm, sinusoidal positions, ReLU, nothing shared: the shape most tests use."""
    return model_maker(target_vocab_size=14, with_biases=True, max_positions=24)


@pytest.fixture(scope="session")
def fused_graphs(model):
    return export(model, "fused", "float32", "int8", "float16")


@pytest.fixture(scope="session")
def fused_graph(fused_graphs):
    return fused_graphs["float32"]


@pytest.fixture(scope="session")
def fused(fused_graph):
    return open_graph(fused_graph)


@pytest.fixture(scope="session")
def portable_graphs(model):
    return export(model, "portable", "float32", "int8")


@pytest.fixture(scope="session")
def portable_graph(portable_graphs):
    return portable_graphs["float32"]


@pytest.fixture(scope="session")
def portable(portable_graph):
    return open_graph(portable_graph)


@pytest.fixture(scope="session")
def shared_model(model_maker):
    """Post-norm, learned positions, GELU, one embedding for all; trained to copy for a moment."""
    model = model_maker(
        1, 400, 400, 1.0, with_biases=True, max_positions=24, d_model=64, norm="post",
        position_encoding="learned", activation="gelu",
        scale_embeddings=False, tie_embeddings="all", output_bias=False, dropout=0.0,
        attention_dropout=0.0,
    ).train()  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(120):
        words = torch.randint(4, 20, (32, 5), generator=generator)
        source = torch.cat([words, torch.full((32, 1), EOS)], 1)
        target = torch.cat([torch.full((32, 1), BOS), source], 1)
        logits = model(source, None, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="session")
def shared_graphs(shared_model):
    return export(shared_model, "fused", "float32", "int8", "float16")


@pytest.fixture(scope="session")
def shared_graph(shared_graphs):
    return shared_graphs["float32"]


@pytest.fixture(scope="session")
def shared(shared_graph):
    return open_graph(shared_graph)
