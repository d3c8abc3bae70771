"""Whether this processor computes int8 products without saturation.

Processors of x86-64 without VNNI instructions add two products of an unsigned and a signed byte in
16 bits, where 2 x 255 x 127 doesn't fit: onnxruntime's quickest int8 product is then silently
wrong for large values. Instead of reading flags of processors, one such product is computed.
"""

import base64
import functools
import zlib

import numpy as np
import onnxruntime

# A graph of one DynamicQuantizeMatMul, x [1, 64] times 64 x 16 weights that are all 127;
# tests/serving/test_int8_probe.py tells how it is made.
_PROBE = (
    "c-rIOvbxC0WzEG{!Npddnwg$a!o^ygoS2g;#8{~$>Qb4Pn46g#Selqul3A7Nn^@vonq$SAoS&-)6fVjy&QB{5Vl61"
    "jPfFFA$id;jAt1o)1U1L2funvDjDk@xVu6+~us~pRf)prT4h#$p_LSf#VPG*O#K*<M!6?MR#l*n~#12V7!Adki0V"
    "ftN1_2Q#K`zvyN`Mgn1l%!B"
)
PROBE_SIZE = 64
PROBE_RESULT = 64.0 * 127.0


def probe_model() -> bytes:
    """The graph as ONNX bytes."""
    return zlib.decompress(base64.b85decode(_PROBE))


@functools.cache
def saturates() -> bool:
    """True: int8 products of this processor are not to be trusted."""
    session = onnxruntime.InferenceSession(probe_model(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, PROBE_SIZE), dtype=np.float32)})
    return not bool(np.allclose(result, PROBE_RESULT, rtol=1e-3))
