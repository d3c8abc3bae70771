"""Weights as 8-bit integers: a quarter of the bytes, and faster products on a CPU.

A weight is held as int8 [N, K] with one scale for each of its N outputs, symmetric around zero;
its values are the same in every form of product, and stand in the file once. Activations are
quantised as they come: in most forms with one scale for a whole tensor, so that what stands beside
a sentence in a batch can move its scores by as much as quantisation does.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from transformer.export.graph_passes import GraphView, replaced

# Of an int8, kept symmetric.
LARGEST = 127
# The ends of the names of token embeddings; one that is tied goes by its other name.
EMBEDDINGS = ("embedding.tokens.weight", "output_projection.weight")


# Values of an input that share a scale in `MatMulNBits`; the most that is quick, and the least.
BLOCKS = (256, 128, 64, 32, 16)

# batched: one operator of onnxruntime; single: one that is quick for a single row; standard:
# several operators that every runtime has.
Product = Literal["batched", "single", "standard"]


def transpose_weights(graph: onnx.GraphProto) -> onnx.GraphProto:
    """A copy whose products read their weights as [N, K], each through a `Transpose`.

    So all forms of a part share the stored weights; a runtime transposes them once, on loading.
    """
    view = GraphView(graph)
    tensors: list[TensorProto] = []
    replacements: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        values = view.constant(node.input[1]) if node.op_type == "MatMul" else None
        if values is None:
            continue
        weight, turned = f"{node.input[1]}.rows", f"{node.input[1]}.turned"
        tensors.append(numpy_helper.from_array(values.T.copy(), weight))
        product = onnx.NodeProto()
        product.CopyFrom(node)
        product.input[1] = turned
        transpose = helper.make_node("Transpose", [weight], [turned], perm=[1, 0])
        replacements[node.output[0]] = [transpose, product]
    return replaced(graph, replacements, tensors)


def quantize(graph: onnx.GraphProto, product: Product) -> onnx.GraphProto:
    """A copy whose matrix products and token embeddings have int8 weights.

    Args:
        graph: a part of the translator, as `transpose_weights` gives it.
        product: what takes the place of a `MatMul` with its bias.
    """
    return _Quantizer(graph, product).run()


def to_int8(weight: NDArray[np.generic]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A weight [N, K] as integers of that shape, and the scale of each of its N outputs."""
    values = weight.astype(np.float32)
    largest = np.abs(values).max(axis=1, keepdims=True)
    scale = np.where(largest > 0, largest / LARGEST, 1.0).astype(np.float32)
    return np.rint(values / scale).astype(np.int8), scale.reshape(-1)


class _Quantizer:
    def __init__(self, graph: onnx.GraphProto, product: Product) -> None:
        self._graph = graph
        self._view = GraphView(graph)
        self._product = product
        self._tensors: dict[str, TensorProto] = {}
        self._replacements: dict[str, list[onnx.NodeProto]] = {}

    def run(self) -> onnx.GraphProto:
        readers = {name: node for node in self._graph.node for name in node.input}
        for node in self._graph.node:
            if node.op_type == "MatMul":
                self._multiply(node, readers.get(node.output[0]))
            elif node.op_type == "Gather" and node.input[0].endswith(EMBEDDINGS):
                self._embed(node)
        return replaced(self._graph, self._replacements, list(self._tensors.values()))

    def _multiply(self, node: onnx.NodeProto, after: onnx.NodeProto | None) -> None:
        x, factor = node.input
        transpose = self._view.maker(factor, "Transpose")
        values = self._view.constant(transpose.input[0]) if transpose else None
        if transpose is None or values is None:
            return  # attention: both factors are activations
        weight, scale = self._weight(transpose.input[0], values)
        output, bias = node.output[0], ""
        if after is not None and after.op_type == "Add":
            bias = self._view.biased(after.output[0])[1]
            output = after.output[0] if bias else output
        size, block = values.shape[1], next((b for b in BLOCKS if not values.shape[1] % b), 0)
        if self._product == "single" and block:
            scales = np.repeat(numpy_helper.to_array(self._tensors[scale]), size // block)
            self._add(f"{weight}.scales", scales)
            packed = [values.shape[0], size // block, block]
            nodes = self._single(x, weight, packed, bias, output)
        else:
            turned = f"{factor}.int8"
            nodes = [helper.make_node("Transpose", [weight], [turned], perm=[1, 0])]
            is_standard = self._product == "standard"
            make = _standard_product if is_standard else _batched_product
            nodes += make(x, turned, scale, bias, output)
        self._replacements[node.output[0]] = nodes
        if bias:
            self._replacements[output] = []

    def _single(
        self, x: str, weight: str, packed: list[int], bias: str, output: str
    ) -> list[onnx.NodeProto]:
        # The operator takes unsigned integers around 128, in blocks of K.
        names = {part: f"{weight}.{part}" for part in ("wide", "moved", "unsigned", "packed")}
        self._add("int8.zero", np.array(128, dtype=np.int32))
        self._add(f"{weight}.shape", np.array(packed))
        return [
            helper.make_node("Cast", [weight], [names["wide"]], to=TensorProto.INT32),
            helper.make_node("Add", [names["wide"], "int8.zero"], [names["moved"]]),
            helper.make_node("Cast", [names["moved"]], [names["unsigned"]], to=TensorProto.UINT8),
            helper.make_node("Reshape", [names["unsigned"], f"{weight}.shape"], [names["packed"]]),
            helper.make_node(
                "MatMulNBits",
                [x, names["packed"], f"{weight}.scales", *(["", "", bias] if bias else [])],
                [output],
                domain="com.microsoft",
                N=packed[0],
                K=packed[1] * packed[2],
                bits=8,
                block_size=packed[2],
                accuracy_level=4,  # computes in int8
            ),
        ]

    def _embed(self, node: onnx.NodeProto) -> None:
        table, ids = node.input
        values = self._view.constant(table)
        assert values is not None
        integers, scale = self._weight(table, values)
        output = node.output[0]
        names = [f"{output}.{name}" for name in ("int8", "scale", "float", "scales")]
        self._add(names[3], numpy_helper.to_array(self._tensors[scale]).reshape(-1, 1))
        self._replacements[output] = [
            helper.make_node("Gather", [integers, ids], [names[0]]),
            helper.make_node("Gather", [names[3], ids], [names[1]]),
            helper.make_node("Cast", [names[0]], [names[2]], to=TensorProto.FLOAT),
            helper.make_node("Mul", [names[2], names[1]], [output]),
        ]

    def _weight(self, name: str, values: NDArray[np.generic]) -> tuple[str, str]:
        # Names of the integers [N, K] and of their scales [N].
        names = f"{name}.int8", f"{name}.scale"
        integers, scale = to_int8(values)
        self._add(names[0], integers)
        self._add(names[1], scale)
        return names

    def _add(self, name: str, values: NDArray[np.generic]) -> None:
        self._tensors[name] = numpy_helper.from_array(values, name)


def _batched_product(
    x: str, weight: str, scale: str, bias: str, output: str
) -> Sequence[onnx.NodeProto]:
    inputs = [x, weight, scale, "", bias] if bias else [x, weight, scale]
    return [helper.make_node("DynamicQuantizeMatMul", inputs, [output], domain="com.microsoft")]


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
