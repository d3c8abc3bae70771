"""PyTorch's exporter to ONNX, without what it would do again for each subgraph.

For graphs as small as these, three quarters of the time of `torch.onnx.export` go into

- a second trace of the whole graph, which decomposes operators that ONNX lacks. Those that we use
  most are in `OPERATORS`; a graph with none but these and the exporter's own needs no second trace;
- the list of all the operators that it can translate, read from their sources in each call;
- garbage collections among millions of objects that stay;
- a cache of shapes that hardly ever has the one asked for.

They are left out here.
"""

import functools
import gc
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import onnx
import torch
import torch._dynamo.config
from onnxscript import opset18
from onnxscript.function_libs.torch_lib.ops import core
from onnxscript.optimizer import fold_constants, remove_unused_nodes
from torch import nn
from torch.export import ExportedProgram
from torch.onnx._internal.exporter._registration import ONNXRegistry

from transformer.export.assemble import OPSET

# Slices of fused projections are folded, however large the weights.
_FOLD_LIMIT = 1 << 40
_read_operators = ONNXRegistry.from_torchlib
_run_decompositions = ExportedProgram.run_decompositions


def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    assert dim == 0, "ScatterND writes rows"
    return opset18.ScatterND(x, opset18.Unsqueeze(index, [-1]), source)


def _take(x: Any, index: Any) -> Any:
    return opset18.Gather(opset18.Reshape(x, [-1]), index)


# What PyTorch would decompose, by what it would become. The exporter's own `reshape` takes a size
# of zero for that of the input.
OPERATORS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.ops.aten.__and__.Tensor: core.aten_bitwise_and,
    torch.ops.aten.__or__.Tensor: core.aten_bitwise_or,
    torch.ops.aten.detach_.default: core.aten_detach,
    torch.ops.aten.index_copy.default: _index_copy,
    torch.ops.aten.reshape.default: core.aten_view,
    torch.ops.aten.take.default: _take,
    torch.ops.aten.to.dtype: core.aten__to_copy,
}


def export_module(
    module: nn.Module,
    examples: Sequence[Any],
    axes: Sequence[Any],
    inputs: list[str],
    outputs: list[str],
) -> onnx.GraphProto:
    """A module as a graph.

    Args:
        module: in evaluation mode; it changes no tensor in place.
        examples: arguments of its forward.
        axes: which of their axes vary, as in `torch.export.export`.
        inputs: names of the tensors among the arguments, in order.
        outputs: names of the tensors that it returns, in order.
    """
    with _quiet(), _quick():
        program = torch.onnx.export(
            module,
            tuple(examples),
            dynamo=True,
            opset_version=OPSET,
            external_data=False,
            dynamic_shapes=tuple(axes),
            input_names=inputs,
            output_names=outputs,
            custom_translation_table=OPERATORS,
            verbose=False,
        )
        assert program is not None
        fold_constants(program.model, input_size_limit=_FOLD_LIMIT, output_size_limit=_FOLD_LIMIT)
        remove_unused_nodes(program.model)
        proto: onnx.ModelProto = program.model_proto
    assert not proto.functions, "the exporter left functions behind"
    return proto.graph


@contextmanager
def _quick() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with (
            mock.patch.object(ONNXRegistry, "from_torchlib", staticmethod(_list_operators)),
            mock.patch.object(ExportedProgram, "run_decompositions", _decompose),
            torch._dynamo.config.patch(fake_tensor_cache_enabled=False),
        ):
            yield
    finally:
        if was_enabled:
            gc.enable()


def _decompose(program: ExportedProgram, decompositions: dict[Any, Any]) -> ExportedProgram:
    if any(node.target in decompositions for node in program.graph.nodes):
        return _run_decompositions(program, decompositions)  # type: ignore[no-any-return]
    return program


@functools.cache
def _list_operators(opset_version: int) -> ONNXRegistry:
    return _read_operators(opset_version)


@contextmanager
def _quiet() -> Iterator[None]:
    # The exporter warns of axis names, of its own deprecations, of torchvision.
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
