"""Small questions to an ONNX graph, for passes that replace some of its nodes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray


class GraphView:
    """Who makes a value, who reads it, what it holds; of a graph that stays as it is."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output}
        self._num_readers: defaultdict[str, int] = defaultdict(int)
        for name in [name for node in graph.node for name in node.input]:
            self._num_readers[name] += 1
        for value in graph.output:
            self._num_readers[value.name] += 1

    def constant(self, name: str) -> NDArray[np.generic] | None:
        """The values of a weight; None if the name is no weight's."""
        tensor = self._tensors.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)

    def maker(self, name: str, op_type: str) -> onnx.NodeProto | None:
        """The node that makes a value, if it is of that type."""
        node = self._makers.get(name)
        return node if node is not None and node.op_type == op_type else None

    def is_read_once(self, name: str) -> bool:
        """Whether nothing but one node needs the value."""
        return self._num_readers[name] == 1

    def biased(self, name: str) -> tuple[str, str]:
        """A value that is another one plus a bias as those two names; else itself and ""."""
        node = self.maker(name, "Add")
        if node is not None and self.is_read_once(name):
            for value, bias in (node.input, reversed(node.input)):
                held = self.constant(bias)
                if held is not None and held.ndim == 1 and self.maker(value, "MatMul"):
                    return value, bias
        return name, ""


def replaced(
    graph: onnx.GraphProto,
    replacements: Mapping[str, Sequence[onnx.NodeProto]],
    tensors: Sequence[onnx.TensorProto] = (),
) -> onnx.GraphProto:
    """A copy with other nodes, and without what nobody reads then.

    Args:
        graph: it is not changed.
        replacements: by a node's first output, what stands in its place; nothing takes it out.
        tensors: further weights.
    """
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        nodes.extend(replacements.get(node.output[0], [node]))
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.output):
            kept.append(node)
            needed.update(node.input)
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    del copy.node[:], copy.initializer[:]
    copy.node.extend(reversed(kept))
    weights = [*graph.initializer, *tensors]
    copy.initializer.extend(tensor for tensor in weights if tensor.name in needed)
    return copy
