"""Integer weights: as close as their eight bits allow, in one operator or in several."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from transformer.export.quantization import quantize, transpose_weights
from transformer.serving.int8_probe import saturates


def float_graph(with_bias, size=16):
    """ids -> embedding -> x W + b, with a weight of very unlike columns."""
    random = np.random.default_rng(0)
    table = random.normal(size=(20, size)).astype(np.float32)
    weight = random.normal(size=(size, 12)).astype(np.float32)
    weight[:, 3] *= 100
    weight[:, 5] = 0
    bias = random.normal(size=12).astype(np.float32)
    product = "product" if with_bias else "sum"
    nodes = [
        helper.make_node("Gather", ["embedding.tokens.weight", "ids"], ["x"]),
        helper.make_node("MatMul", ["x", "w"], [product]),
    ]
    if with_bias:
        nodes.append(helper.make_node("Add", ["product", "b"], ["sum"]))
    held = {"embedding.tokens.weight": table, "w": weight} | ({"b": bias} if with_bias else {})
    graph = helper.make_graph(
        nodes,
        "part",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n", 12])],
        [numpy_helper.from_array(values, name) for name, values in held.items()],
    )
    return transpose_weights(graph)


def run(graph):
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"ids": np.arange(20)})[0]


@pytest.mark.skipif(saturates(), reason="this processor's int8 products saturate")
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("size", [16, 48, 20])  # a block, several blocks, none that fits
def test_products_are_close_to_float_in_every_form(with_bias, size):
    graph = float_graph(with_bias, size)
    before = graph.SerializeToString()
    expected = run(graph)
    scale = np.abs(expected).max(axis=0)  # of each column: a large one must not blur the others
    for product in ("batched", "single", "standard"):
        found = run(quantize(graph, product))
        np.testing.assert_array_less(np.abs(found - expected).max(axis=0), 0.04 * scale + 1e-3)
    assert graph.SerializeToString() == before


def test_one_operator_and_several_give_the_same():
    graph = float_graph(True)
    found = [run(quantize(graph, product)) for product in ("batched", "standard")]
    np.testing.assert_allclose(*found, atol=1e-3)


def test_weights_become_integers_and_floats_go():
    graphs = [quantize(float_graph(True), product) for product in ("batched", "single")]
    weights = []
    for graph in graphs:
        held = {tensor.name: tensor for tensor in graph.initializer if len(tensor.dims) == 2}
        assert set(held) == {"w.rows.int8", "embedding.tokens.weight.int8", "x.scales"}
        assert held["w.rows.int8"].data_type == TensorProto.INT8
        weights.append(held["w.rows.int8"].raw_data)
    assert weights[0] == weights[1]  # so that a file holds them once
    assert [node.op_type for node in graphs[0].node] == [
        *("Gather", "Gather", "Cast", "Mul", "Transpose", "DynamicQuantizeMatMul")
    ]


def test_products_of_two_activations_stay():
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])],
        "part",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
    )
    assert quantize(transpose_weights(graph), "batched") == graph


@pytest.fixture
def by_graph(opener, make_options):
    def run(graph, rows, **options):
        return opener(graph).run(None, make_options(**options).graph_inputs(rows, 0))

    return run


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_whole_graph_translates_alike_in_both_forms(
    fused_graphs, portable_graphs, by_graph, beam_size
):
    rows = [[4, 5, 6, 7, 3], [8, 3], [9, 9, 4, 3], [11, 10, 9, 8, 7, 6, 5, 4, 3]]
    limit = {"max_length_factor": 0.0, "max_length_extra": 12}
    answers = [
        by_graph(graphs["int8"], rows, beam_size=beam_size, **limit)
        for graphs in (fused_graphs, portable_graphs)
    ]
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1], answers[1][1], atol=1e-2)


@pytest.mark.slow
def test_a_trained_model_keeps_its_answers_in_a_third_of_the_bytes(shared_graphs, by_graph):
    random = np.random.default_rng(1)
    rows = [[*random.integers(4, 20, 5).tolist(), 3] for _ in range(50)]
    answers = [
        by_graph(shared_graphs[precision], rows, length_penalty=1.0)
        for precision in ("float32", "int8")
    ]
    width = min(answer[0].shape[2] for answer in answers)
    same = [
        (a[0, :width] == b[0, :width]).all() for a, b in zip(*(x[0] for x in answers), strict=True)
    ]
    assert np.mean(same) > 0.9
