"""The graph: it answers as PyTorch does, holds weights once, has the same bytes each time."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.decoding.beam import SpecialIds
from transformer.decoding.search import search
from transformer.export.graph import INPUTS, OUTPUTS, serialise
from transformer.export.runtime import run_graph

SPECIAL = SpecialIds(pad=0, bos=2, eos=3)
ROWS = [
    [4, 5, 6, 7, 3],
    [8, 3],
    [],
    [3],
    [9, 9, 4, 3],
    [11, 10, 9, 8, 7, 6, 5, 4, 3],
    [1, *range(4, 12), *range(4, 12), 4, 5, 6, 7, 8, 9, 3],  # as long as the model allows
]
LIMITS = [12, 3, 9, 1, 7, 20, 24]
MAX_POSITIONS = 24


def by_pytorch(model, rows=ROWS, limits=LIMITS, beam_size=4, num_best=1, length_penalty=0.6):
    width = max(1, *map(len, rows))
    source = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    result = search(
        model,
        source,
        source != 0,
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_lengths=torch.tensor(limits),
        num_best=num_best,
        special=SPECIAL,
    )
    return [tensor.numpy() for tensor in result]


def by_graph(session, rows=ROWS, limits=LIMITS, beam_size=4, num_best=1, length_penalty=0.6):
    return run_graph(
        session,
        rows,
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_lengths=limits,
        num_best=num_best,
        source_pad=0,
    )


def assert_same(found, expected):
    for left, right, name in zip(found, expected, OUTPUTS, strict=True):
        if name == "scores":
            np.testing.assert_allclose(left, right, atol=2e-5)
        else:
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("attention", ["fused", "portable"])
@pytest.mark.parametrize("beam_size", range(1, 6))
def test_graph_translates_as_pytorch(request, model, attention, beam_size):
    session = request.getfixturevalue(attention)
    assert len(ROWS[-1]) == MAX_POSITIONS == model.config.max_positions
    for num_best in {1, beam_size // 2 + 1, beam_size}:
        for length_penalty in (0.0, 0.6, 1.0):
            settings = {
                "beam_size": beam_size,
                "num_best": num_best,
                "length_penalty": length_penalty,
            }
            assert_same(by_graph(session, **settings), by_pytorch(model, **settings))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_trained_model_of_another_shape_translates_as_pytorch(shared_model, shared, beam_size):
    generator = np.random.default_rng(0)
    rows = [[*generator.integers(4, 20, 5).tolist(), 3] for _ in range(40)]
    settings = {"rows": rows, "limits": [20] * 40, "beam_size": beam_size, "length_penalty": 1.0}
    found = by_graph(shared, **settings)
    assert_same(found, by_pytorch(shared_model, **settings))
    copied = [found[0][row, 0, : len(ids)].tolist() == ids for row, ids in enumerate(rows)]
    assert np.mean(copied) > 0.8


def test_beams_beyond_the_vocabulary_work(model, fused):
    settings = {"beam_size": 20, "num_best": 15, "rows": ROWS[:2], "limits": [3, 2]}
    assert_same(by_graph(fused, **settings), by_pytorch(model, **settings))


def test_batch_equals_one_by_one(fused):
    together = by_graph(fused, num_best=3)
    for row, ids in enumerate(ROWS):
        target, scores, lengths = by_graph(fused, [ids], [LIMITS[row]], num_best=3)
        np.testing.assert_array_equal(together[0][row, :, : target.shape[2]], target[0])
        assert (together[0][row, :, target.shape[2] :] == 0).all()
        np.testing.assert_allclose(together[1][row], scores[0], atol=1e-5)
        np.testing.assert_array_equal(together[2][row], lengths[0])


def test_hundreds_of_rows_work(fused, model):
    rows, limits = ROWS * 60, LIMITS * 60
    few, many = by_graph(fused), by_graph(fused, rows, limits)
    np.testing.assert_array_equal(many[0], np.tile(few[0], (60, 1, 1)))


def test_padding_alone_gives_empty_answers(fused):
    target, scores, lengths = by_graph(fused, [[], []], [5, 5], num_best=2)
    assert target.shape == (2, 2, 0)
    assert lengths.tolist() == [[0, 0], [0, 0]]
    assert scores.tolist() == [[0.0, -np.inf]] * 2


def test_interface_is_as_documented(fused_graph):
    assert [value.name for value in fused_graph.graph.input] == INPUTS
    assert [value.name for value in fused_graph.graph.output] == OUTPUTS
    assert [node.op_type for node in fused_graph.graph.node].count("Loop") == 1


def test_portable_form_has_standard_operators_only(portable_graph):
    assert [(one.domain, one.version) for one in portable_graph.opset_import] == [("", 20)]
    body = next(node for node in portable_graph.graph.node if node.op_type == "Loop").attribute[0].g
    assert {node.domain for node in (*portable_graph.graph.node, *body.node)} == {""}


def test_names_in_the_loop_are_its_own(fused_graph):
    graph = fused_graph.graph
    loop = next(node for node in graph.node if node.op_type == "Loop")
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")

    def defined(graph):
        named = [value.name for value in (*graph.input, *graph.initializer)]
        return [*named, *(name for node in graph.node for name in node.output if name)]

    every = defined(graph) + defined(body)
    assert len(every) == len(set(every))


def test_weights_are_stored_once(shared_model, shared_graph, model, fused_graph):
    for one, graph in ((shared_model, shared_graph), (model, fused_graph)):
        buffers = sum(buffer.numel() for buffer in one.buffers())
        weights = 4 * (one.num_parameters() + buffers)
        assert 0 < len(serialise(graph)) - weights < 80_000
    table = [t for t in shared_graph.graph.initializer if list(t.dims) == [400, 64]]
    assert len(table) == 1


def test_bytes_hold_no_paths(fused_graph):
    content = serialise(fused_graph)
    assert b".py" not in content
    assert str(Path.home()).encode() not in content
    assert str(Path.cwd()).encode() not in content


def test_another_process_in_another_folder_writes_the_same_bytes(
    tmp_path, model, fused_graph, monkeypatch
):
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(model.config.model_dump_json())
    code = """
import hashlib, torch
from transformer.decoding.beam import SpecialIds
from transformer.export.graph import build_graph, serialise
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

model = Transformer(ModelConfig.model_validate_json(open("config.json").read()), 12, 14)
model.load_state_dict(torch.load("weights.pt", weights_only=True))
graph = build_graph(
    model.eval(), source_pad=0, special=SpecialIds(0, 2, 3), attention="fused",
    precision="float32",
)
print(hashlib.sha256(serialise(graph)).hexdigest())
"""
    environment = os.environ | {
        "PYTHONHASHSEED": "7",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = hashlib.sha256(serialise(fused_graph)).hexdigest()
    assert done.stdout.split()[-1] == expected
    assert done.stdout.strip() == expected  # the exporter says nothing of its own
