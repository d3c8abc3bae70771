"""The product that shows whether a processor saturates.

Run as a script, this writes the graph.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from transformer.serving.int8_probe import PROBE, PROBE_RESULT, PROBE_SIZE

WEIGHT = np.full((PROBE_SIZE, 16), 127, dtype=np.int8)


def make_probe():
    scale = np.ones(16, dtype=np.float32)
    product = helper.make_node(
        "DynamicQuantizeMatMul", ["x", "weight", "scale"], ["y"], domain="com.microsoft"
    )
    graph = helper.make_graph(
        [product],
        "probe",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, PROBE_SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16])],
        [numpy_helper.from_array(WEIGHT, "weight"), numpy_helper.from_array(scale, "scale")],
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def test_probe_is_one_product_of_the_largest_values():
    assert onnx.load(PROBE) == make_probe()
    # Activations become bytes of 0 to 255; two products of the largest overflow 16 signed bits.
    assert np.iinfo(np.int16).max < 2 * 255 * 127
    assert float(np.ones(PROBE_SIZE) @ WEIGHT[:, 0]) == PROBE_RESULT


if __name__ == "__main__":
    onnx.save(make_probe(), PROBE)
