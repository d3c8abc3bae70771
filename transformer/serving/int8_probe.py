"""Whether this processor computes int8 products without saturation.

Processors of x86-64 without VNNI instructions add two products of an unsigned and a signed byte in
16 bits, where 2 x 255 x 127 doesn't fit: onnxruntime's quickest int8 product is then silently
wrong for large values. Instead of reading flags of processors, one such product is computed.
"""

import functools
from pathlib import Path

import numpy as np
import onnxruntime

# One DynamicQuantizeMatMul, x [1, 64] times 64 x 16 weights that are all 127;
# `python tests/serving/test_int8_probe.py` makes it.
PROBE = Path(__file__).with_suffix(".onnx")
PROBE_SIZE = 64
PROBE_RESULT = 64.0 * 127.0


@functools.cache
def saturates() -> bool:
    """True: int8 products of this processor are not to be trusted."""
    session = onnxruntime.InferenceSession(PROBE, providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, PROBE_SIZE), dtype=np.float32)})
    return not bool(np.allclose(result, PROBE_RESULT, rtol=1e-3))
