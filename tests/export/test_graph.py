"""The graph: it answers as PyTorch does, holds weights once, has the same bytes each time."""

import hashlib
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.export.graph import INPUTS, OUTPUTS, build_graphs, serialize
from transformer.search.decode import search
from transformer.text.special_tokens import SpecialIds

SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
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
# The quick tests hold the form that is exported by default.
ATTENTION = ["fused", pytest.param("portable", marks=pytest.mark.slow)]


def copied_rows():
    """Sentences that `shared_model` has learned to copy."""
    generator = np.random.default_rng(0)
    return [[*generator.integers(4, 20, 5).tolist(), 3] for _ in range(40)]


@pytest.fixture
def by_pytorch(make_options):
    def run(model, rows=ROWS, limits=LIMITS, patience=2.0, **options):
        width = max(1, *map(len, rows))
        source = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
        options = make_options(patience=patience, max_positions=MAX_POSITIONS, **options)
        result = search(model, source, source != 0, options, SPECIAL, torch.tensor(limits))
        return [tensor.numpy() for tensor in result]

    return run


@pytest.fixture
def by_graph(make_options):
    def run(session, rows=ROWS, limits=LIMITS, patience=2.0, **options):
        options = make_options(patience=patience, **options)
        inputs = options.graph_inputs(rows, 0) | {"max_length": np.array(limits)}
        return session.run(None, inputs)

    return run


def assert_same(found, expected):
    for left, right, name in zip(found, expected, OUTPUTS, strict=True):
        if name == "scores":
            np.testing.assert_allclose(left, right, atol=2e-5)
        else:
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("attention", ATTENTION)
@pytest.mark.parametrize("beam_size", range(1, 6))
def test_graph_translates_as_pytorch(request, model, attention, beam_size, by_graph, by_pytorch):
    session = request.getfixturevalue(attention)
    assert len(ROWS[-1]) == MAX_POSITIONS == model.config.max_positions
    for num_best in {1, beam_size // 2 + 1, beam_size}:
        for length_penalty, patience in ((0.0, 1.0), (0.6, 2.0), (1.0, math.inf)):
            settings = {
                "beam_size": beam_size,
                "num_best": num_best,
                "length_penalty": length_penalty,
                "patience": patience,
            }
            assert_same(by_graph(session, **settings), by_pytorch(model, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_trained_model_of_another_shape_translates_as_pytorch(
    shared_model, shared, beam_size, by_graph, by_pytorch
):
    rows = copied_rows()
    settings = {"rows": rows, "limits": [20] * 40, "beam_size": beam_size, "length_penalty": 1.0}
    found = by_graph(shared, **settings)
    assert_same(found, by_pytorch(shared_model, **settings))
    copied = [found[0][row, 0, : len(ids)].tolist() == ids for row, ids in enumerate(rows)]
    assert np.mean(copied) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("attention", ATTENTION)
def test_variants_translate_as_pytorch(model_maker, opener, attention, by_graph, by_pytorch):
    """Both in one model: an export takes long, and either alone would spoil its answers."""
    model = model_maker(
        target_vocab_size=14, with_biases=True, max_positions=24, num_decoder_layers=1,
        layer_norm_variant="unbiased", norm_epsilon=1e-2, position_encoding="rotary",
    )  # fmt: skip
    ((_, graph),) = build_graphs(
        model, source_pad=0, special=SPECIAL, attention=attention, precisions=["float32"]
    )
    session = opener(graph)
    for beam_size in (1, 4):
        assert_same(by_graph(session, beam_size=beam_size), by_pytorch(model, beam_size=beam_size))


def test_beams_beyond_the_vocabulary_work(model, fused, by_graph, by_pytorch):
    settings = {"beam_size": 20, "num_best": 15, "rows": ROWS[:2], "limits": [3, 2]}
    assert_same(by_graph(fused, **settings), by_pytorch(model, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_half_precision_translates_as_pytorch(
    shared_model, shared_graphs, opener, beam_size, by_graph, by_pytorch
):
    """In float32 scores; a CPU computes it by casts."""
    rows = copied_rows()
    settings = {"rows": rows, "limits": [20] * 40, "beam_size": beam_size, "length_penalty": 1.0}
    found = by_graph(opener(shared_graphs["float16"]), **settings)
    expected = by_pytorch(shared_model, **settings)
    np.testing.assert_allclose(found[1], expected[1], atol=2e-2)
    assert found[1].dtype == np.float32
    assert np.mean((found[0] == expected[0]).all(axis=(1, 2))) > 0.9


def test_a_row_that_outlives_all_others_is_answered_as_alone(fused, by_graph):
    """Each round of the search ends with fewer rows than it began with."""
    limits = [1, 2, 3, 4, 6, 9, 12, 24]
    together = by_graph(fused, [ROWS[0]] * 8, limits, num_best=2)
    for row, limit in enumerate(limits):
        target, scores, lengths = by_graph(fused, [ROWS[0]], [limit], num_best=2)
        np.testing.assert_array_equal(together[0][row, :, : target.shape[2]], target[0])
        np.testing.assert_allclose(together[1][row], scores[0], atol=1e-5)
        np.testing.assert_array_equal(together[2][row], lengths[0])


@pytest.mark.parametrize("attention", ATTENTION)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_batch_equals_one_by_one(request, attention, beam_size, by_graph):
    session = request.getfixturevalue(attention)
    settings = {"beam_size": beam_size, "num_best": min(3, beam_size)}
    together = by_graph(session, **settings)
    for row, ids in enumerate(ROWS):
        target, scores, lengths = by_graph(session, [ids], [LIMITS[row]], **settings)
        np.testing.assert_array_equal(together[0][row, :, : target.shape[2]], target[0])
        assert (together[0][row, :, target.shape[2] :] == 0).all()
        np.testing.assert_allclose(together[1][row], scores[0], atol=1e-5)
        np.testing.assert_array_equal(together[2][row], lengths[0])


def test_hundreds_of_rows_work(fused, model, by_graph):
    rows, limits = ROWS * 60, LIMITS * 60
    few, many = by_graph(fused), by_graph(fused, rows, limits)
    np.testing.assert_array_equal(many[0], np.tile(few[0], (60, 1, 1)))


def test_padding_alone_gives_empty_answers(fused, by_graph):
    target, scores, lengths = by_graph(fused, [[], []], [5, 5], num_best=2)
    assert target.shape == (2, 2, 0)
    assert lengths.tolist() == [[0, 0], [0, 0]]
    assert scores.tolist() == [[0.0, -np.inf]] * 2


def test_interface_is_as_documented(fused_graph):
    assert [value.name for value in fused_graph.model.graph.input] == INPUTS
    assert [value.name for value in fused_graph.model.graph.output] == OUTPUTS
    names = [graph.name for graph in graphs_within(fused_graph.model.graph)]
    beam = ["beam", "beam_rounds", "beam_round", "beam_step", "single_beam", "single_beam_step"]
    greedy = ["greedy", "greedy_rounds", "greedy_round", "greedy_step", "single", "single_step"]
    assert names == ["translator", *beam, *greedy]


@pytest.mark.slow
def test_portable_form_has_standard_operators_only(portable_graph, portable_graphs):
    assert [(one.domain, one.version) for one in portable_graph.model.opset_import] == [("", 20)]
    for built in portable_graphs.values():
        domains = {node.domain for graph in graphs_within(built.model.graph) for node in graph.node}
        assert domains == {""}


def graphs_within(graph):
    """The graph, then those that its nodes hold, each before those within it."""
    found = [graph]
    for node in graph.node:
        for attribute in sorted(node.attribute, key=lambda attribute: attribute.name):
            if attribute.HasField("g"):
                found += graphs_within(attribute.g)
    return found


def test_names_are_used_once(fused_graphs):
    for built in fused_graphs.values():
        every = []
        for graph in graphs_within(built.model.graph):
            every += [value.name for value in (*graph.input, *graph.initializer)]
            every += [name for node in graph.node for name in node.output if name]
        assert len(every) == len(set(every))


def test_a_step_reads_its_weights_from_the_graph_around_it(fused_graphs):
    """Only from there does onnxruntime pack them ahead of time."""
    for built in fused_graphs.values():
        graphs = graphs_within(built.model.graph)
        found = [(outer, inner) for outer, inner in pairwise(graphs) if "step" in inner.name]
        assert len(found) == 4
        for outer, inner in found:
            assert not inner.initializer
            near = {name for node in outer.node for name in node.output}
            products = [node for node in inner.node if "MatMul" in node.op_type]
            assert len(products) == 2 * 6 + 1
            assert {node.input[1] for node in products} <= near


def test_what_no_step_changes_is_computed_before_them(fused_graph):
    graphs = {graph.name: graph for graph in graphs_within(fused_graph.model.graph)}
    for name in ("beam_step", "single_beam_step", "greedy_step", "single_step"):
        carried = {value.name for value in graphs[name].input}
        for node in graphs[name].node:
            assert not carried.isdisjoint(node.input)
            carried.update(node.output)


@pytest.mark.slow
def test_weights_are_stored_once(shared_model, shared_graph, model, fused_graph):
    for one, graph in ((shared_model, shared_graph), (model, fused_graph)):
        buffers = sum(buffer.numel() for buffer in one.buffers())
        weights = 4 * (one.num_parameters() + buffers)
        assert 0 < len(serialize(graph.model)) - weights < 145_000  # of four loops
        tensors = [one for inner in graphs_within(graph.model.graph) for one in inner.initializer]
        matrices = [(*one.dims, one.raw_data) for one in tensors if len(one.dims) > 1]
        assert len(matrices) == len(set(matrices)) > 20
    shapes = [list(tensor.dims) for tensor in shared_graph.model.graph.initializer]
    assert shapes.count([400, 64]) == 1


def test_bytes_hold_no_paths(fused_graph):
    content = serialize(fused_graph.model)
    assert b".py" not in content
    assert str(Path.home()).encode() not in content
    assert str(Path.cwd()).encode() not in content


@pytest.mark.slow
def test_other_processes_in_another_folder_write_the_same_bytes(tmp_path, model, fused_graphs):
    """One that makes a graph and has another process make the others beside it."""
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    (tmp_path / "config.json").write_text(model.config.model_dump_json())
    code = """
import hashlib, torch
from transformer.text.special_tokens import SpecialIds
from transformer.export.graph import build_graphs, serialize
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

model = Transformer(ModelConfig.model_validate_json(open("config.json").read()), 12, 14)
model.load_state_dict(torch.load("weights.pt", weights_only=True))
graphs = build_graphs(
    model.eval(),
    source_pad=0,
    special=SpecialIds(0, 1, 2, 3),
    attention="fused",
    precisions=["float32", "int8", "float16"],
    in_parallel=True,
)
for _, graph in graphs:
    print(hashlib.sha256(serialize(graph.model)).hexdigest())
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
    expected = [
        hashlib.sha256(serialize(graph.model)).hexdigest() for graph in fused_graphs.values()
    ]
    assert done.stdout.splitlines() == expected  # the exporter says nothing of its own
