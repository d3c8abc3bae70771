"""Weights as 8-bit integers: a quarter of the bytes, and faster products on a CPU.

A weight [K, N] is held as int8 with one scale for each of its N columns, symmetric around zero.
Activations are quantised as they come, one scale for a whole tensor. So what stands beside a
sentence in a batch can move its scores by as much as quantisation does.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from transformer.export.editing import GraphView, replaced

# Of an int8, kept symmetric.
LARGEST = 127
# The ends of the names of token embeddings; one that is tied goes by its other name.
EMBEDDINGS = ("tokens.weight", "projection.weight")


def quantise(graph: onnx.GraphProto, *, is_fused: bool) -> onnx.GraphProto:
    """A copy whose matrix products and token embeddings have int8 weights.

    Args:
        graph: a part of the translator; weights are the second factors of its `MatMul`s, as they
            are or through one `Transpose`.
        is_fused: one operator of onnxruntime for each product; else several standard ones.
    """
    return _Quantiser(graph, is_fused).run()


class _Quantiser:
    def __init__(self, graph: onnx.GraphProto, is_fused: bool) -> None:
        self._graph = graph
        self._view = GraphView(graph)
        self._is_fused = is_fused
        self._tensors: dict[str, TensorProto] = {}
        self._replacements: dict[str, list[onnx.NodeProto]] = {}

    def run(self) -> onnx.GraphProto:
        readers = {name: node for node in self._graph.node for name in node.input}
        for node in self._graph.node:
            if node.op_type == "MatMul":
                after = readers.get(node.output[0])
                self._product(node, after)
            elif node.op_type == "Gather" and node.input[0].endswith(EMBEDDINGS):
                self._embedding(node)
        return replaced(self._graph, self._replacements, list(self._tensors.values()))

    def _product(self, node: onnx.NodeProto, after: onnx.NodeProto | None) -> None:
        x, factor = node.input
        transpose = self._view.maker(factor, "Transpose")
        weight = transpose.input[0] if transpose else factor
        values = self._view.constant(weight)
        if values is None:
            return  # attention: both factors are activations
        integers, scale = self._weight(weight, values, axis=0 if transpose else 1)
        nodes = []
        if transpose:
            name = f"{factor}.int8"
            nodes.append(helper.make_node("Transpose", [integers], [name], perm=[1, 0]))
            integers = name
        output, bias = node.output[0], ""
        if after is not None and after.op_type == "Add":
            linear, bias = self._view.biased(after.output[0])
            output = after.output[0] if bias else output
        make = _fused_product if self._is_fused else _standard_product
        nodes += make(x, integers, scale, bias, output)
        self._replacements[node.output[0]] = nodes
        if bias:
            self._replacements[output] = []

    def _embedding(self, node: onnx.NodeProto) -> None:
        table, ids = node.input
        values = self._view.constant(table)
        assert values is not None
        integers, scale = self._weight(table, values, axis=0)
        output = node.output[0]
        names = [f"{output}.{name}" for name in ("int8", "scale", "float", "scales")]
        self._add(names[3], numpy_helper.to_array(self._tensors[scale]).reshape(-1, 1))
        self._replacements[output] = [
            helper.make_node("Gather", [integers, ids], [names[0]]),
            helper.make_node("Gather", [names[3], ids], [names[1]]),
            helper.make_node("Cast", [names[0]], [names[2]], to=TensorProto.FLOAT),
            helper.make_node("Mul", [names[2], names[1]], [output]),
        ]

    def _weight(self, name: str, values: NDArray[np.generic], axis: int) -> tuple[str, str]:
        # Names of the integers and of their scales, one for each index of the axis.
        weight = values.astype(np.float32)
        largest = np.abs(weight).max(axis=1 - axis, keepdims=True)
        scale = np.where(largest > 0, largest / LARGEST, 1.0).astype(np.float32)
        names = f"{name}.int8", f"{name}.scale"
        self._add(names[0], np.rint(weight / scale).astype(np.int8))
        self._add(names[1], scale.reshape(-1))
        return names

    def _add(self, name: str, values: NDArray[np.generic]) -> None:
        self._tensors[name] = numpy_helper.from_array(values, name)


def _fused_product(
    x: str, weight: str, scale: str, bias: str, output: str
) -> Sequence[onnx.NodeProto]:
    inputs = [x, weight, scale, "", bias] if bias else [x, weight, scale]
    return [
        helper.make_node("DynamicQuantizeMatMul", inputs, [output], domain="com.microsoft")
    ]


def _standard_product(
    x: str, weight: str, scale: str, bias: str, output: str
) -> Sequence[onnx.NodeProto]:
    names = {
        part: f"{output}.{part}"
        for part in ("x", "x_scale", "x_zero", "whole", "real", "scale", "scaled")
    }
    scaled = names["scaled"] if bias else output
    nodes = [
        helper.make_node(
            "DynamicQuantizeLinear", [x], [names["x"], names["x_scale"], names["x_zero"]]
        ),
        helper.make_node("MatMulInteger", [names["x"], weight, names["x_zero"]], [names["whole"]]),
        helper.make_node("Cast", [names["whole"]], [names["real"]], to=TensorProto.FLOAT),
        helper.make_node("Mul", [names["x_scale"], scale], [names["scale"]]),
        helper.make_node("Mul", [names["real"], names["scale"]], [scaled]),
    ]
    if bias:
        nodes.append(helper.make_node("Add", [scaled, bias], [output]))
    return nodes
