"""The tensors and nodes of exported parts, under names of their own in a joined graph."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import TensorProto


class Weights:
    """The tensors of the joined graph, each kept once however many parts use it."""

    def __init__(self) -> None:
        self.tensors: list[TensorProto] = []
        self._names: dict[tuple[Any, ...], str] = {}

    def take(
        self,
        part: onnx.GraphProto,
        prefix: str,
        inputs: Sequence[str],
        renamed: Mapping[str, str] | None = None,
        local: list[TensorProto] | None = None,
    ) -> list[onnx.NodeProto]:
        """The nodes of a part, under names that can't clash, and its tensors.

        Args:
            part: the exported graph.
            prefix: put before the names of inner values.
            inputs: the part's inputs as the joined graph calls them; the exporter keeps names.
            renamed: other names for some of them.
            local: takes vectors and scalars, if given; without it they go to the outer graph,
                as matrices do in any case.
        """
        table = {name: name for name in (*inputs, *(value.name for value in part.output))}
        table |= renamed or {}
        table[""] = ""  # an optional input left out
        for tensor in part.initializer:
            is_output = tensor.name in table
            name = table[tensor.name] if is_output else prefix + tensor.name
            table[tensor.name] = self._keep(tensor, name, not is_output, local)
        for node in part.node:
            for name in node.output:
                table.setdefault(name, prefix + name)
        return [plain_node(node, table) for node in part.node]

    def _keep(
        self, tensor: TensorProto, name: str, is_shared: bool, local: list[TensorProto] | None
    ) -> str:
        plain = plain_tensor(tensor, name)
        digest = hashlib.sha256(plain.raw_data).hexdigest()
        key = (plain.data_type, tuple(plain.dims), digest)
        if is_shared and key in self._names:
            return self._names[key]
        if local is None or len(plain.dims) > 1:
            self._names.setdefault(key, name)
            self.tensors.append(plain)
        else:
            local.append(plain)
        return name


def plain_tensor(tensor: TensorProto, name: str) -> TensorProto:
    """A tensor's values as raw bytes, its notes left out."""
    return onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), name)


def plain_node(node: onnx.NodeProto, table: Mapping[str, str]) -> onnx.NodeProto:
    """A node under other names; the exporter's notes, which hold paths, are left out."""
    assert not any(a.HasField("g") or a.graphs for a in node.attribute), "a nested graph"
    plain = onnx.NodeProto(
        op_type=node.op_type,
        domain=node.domain,
        input=[table[name] for name in node.input],
        output=[table[name] for name in node.output],
        name=table[next(name for name in node.output if name)],
    )
    for attribute in sorted(node.attribute, key=lambda attribute: attribute.name):
        copied = plain.attribute.add()
        copied.CopyFrom(attribute)
        copied.doc_string = ""
    return plain
