"""Self-attention of a greedy step by one node, for graphs that run on a CPU alone.

`GroupQueryAttention` (com.microsoft) takes queries, keys and values side by side, as the projection
gives them, turns them by their positions and lengthens the cache: what a step has four nodes for,
or two without rotary positions. On CUDA it has no float32, so that the int8 graph alone has it.
"""

from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from transformer.export.graph_passes import GraphView, replaced

# The operator takes heads of a multiple of so many features.
WIDTH_UNIT = 16

NUM_STEPS = "state.num_steps"
TOKENS = "state.tokens"


class _Packed(NamedTuple):
    """What stands before an attention's queries, keys and values."""

    values: str  # all three of them side by side, as they were projected
    rotary: onnx.NodeProto | None


def pack_self_attention(graph: onnx.GraphProto, head_width: int) -> onnx.GraphProto:
    """A copy of a step's graph whose attention to the cache is packed; itself where it can't be.

    Args:
        graph: of one beam. Several attend to a cache that holds more positions than the tables of
            their rotation, which the operator refuses, and so do more than one sentence of them.
        head_width: features of one head.
    """
    if head_width % WIDTH_UNIT:
        return graph
    view = GraphView(graph)
    replacements: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        if node.op_type == "MultiHeadAttention" and len(node.input) == 8 and not node.input[5]:
            packed = _find_packed(view, node)
            if packed is not None:
                replacements[node.output[0]] = [_pack(node, packed)]
    if replacements:
        first = next(iter(replacements.values()))
        first[:0] = [
            helper.make_node("Cast", [NUM_STEPS], ["packed.past"], to=TensorProto.INT32),
            helper.make_node("Add", ["packed.past", "packed.one"], ["packed.total"]),
            helper.make_node("Shape", [TOKENS], ["packed.rows"], start=0, end=1),
            # Of each row what came before, which the operator takes for its length less one.
            helper.make_node("Expand", ["packed.past", "packed.rows"], ["packed.lengths"]),
        ]
    one = numpy_helper.from_array(np.array(1, dtype=np.int32), "packed.one")
    return replaced(graph, replacements, [one])


def _find_packed(view: GraphView, node: onnx.NodeProto) -> _Packed | None:
    query, key, value = node.input[:3]
    split = view.maker(query, "Split")
    if split is None or list(split.output[:2]) != [query, key]:
        return None
    rotary = view.maker(split.input[0], "RotaryEmbedding")
    if rotary is not None:
        turned = rotary.input[0]
        split = view.maker(turned, "Split")
        if split is None or list(split.output) != [turned, value]:
            return None
    elif list(split.output) != [query, key, value]:
        return None
    return _Packed(split.input[0], rotary)


def _pack(node: onnx.NodeProto, packed: _Packed) -> onnx.NodeProto:
    num_heads = next(a.i for a in node.attribute if a.name == "num_heads")
    tables = [] if packed.rotary is None else packed.rotary.input[2:]
    return helper.make_node(
        "GroupQueryAttention",
        [packed.values, "", "", *node.input[6:8], "packed.lengths", "packed.total", *tables],
        list(node.output),
        domain="com.microsoft",
        num_heads=num_heads,
        kv_num_heads=num_heads,
        scale=1.0,
        do_rotary=len(tables) // 2,
        rotary_interleaved=len(tables) // 2,
    )
