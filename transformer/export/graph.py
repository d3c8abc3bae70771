"""The translator as one ONNX graph.

    source, max_length, length_penalty, beam_size, num_best
      -> Start (encoder, cross keys with values, first state)
      -> Loop (Step: cached decoder, search)
      -> Finish -> target, scores, lengths

The parts are exported by PyTorch one by one, then joined here. Weights stand once, in the outer
graph, where the loop's body sees them too; what doesn't change from step to step (the cross keys,
the plan of the search) the body reads from there as well, so that the loop carries only its state.
"""

import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

from transformer.decoding.beam import SpecialIds
from transformer.export.attention import Attention, FusedAttention, PortableAttention
from transformer.export.config import Precision
from transformer.export.interface import (
    Interface,
    Value,
    describe,
    dynamic_axes,
    examples,
    names,
)
from transformer.export.parts import Finish, Start, Step
from transformer.export.stand_in import rounded
from transformer.model.transformer import Transformer

OPSET = 20
IR_VERSION = 10
INPUTS = ["source", "max_length", "length_penalty", "beam_size", "num_best"]
OUTPUTS = ["target", "scores", "lengths"]
# What a step computes on the way, by its name in the loop's body; `with_logits` shows it.
LOGITS = "logits"
ATTENTION: dict[str, type[FusedAttention] | type[PortableAttention]] = {
    "fused": FusedAttention,
    "portable": PortableAttention,
}
# Tensors with fewer values stay inside the body, where the runtime folds them.
MIN_SHARED_VALUES = 64
TYPES = {
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.float32: TensorProto.FLOAT,
    torch.bool: TensorProto.BOOL,
}


def build_graph(
    model: Transformer,
    *,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    precision: Precision,
) -> onnx.ModelProto:
    """The whole translator; the same model gives the same bytes.

    Args:
        model: on the CPU in float32, in evaluation mode; it is not changed.
        source_pad: padding mark of the source vocabulary.
        special: marks of the target vocabulary.
        attention: "fused" or "portable", see `transformer.export.attention`.
        precision: of the weights and of products with them.

    Returns:
        A model whose inputs and outputs are:
        - source int64 [B, S], padded; max_length int64 [B]; length_penalty float32 [];
          beam_size int64 []; num_best int64 [], at most beam_size;
        - target int64 [B, N, T]; scores float32 [B, N]; lengths int64 [B, N], as in
          `transformer.decoding.beam.SearchResult`.
    """
    model = rounded(model, precision)
    form: Attention = ATTENTION[attention](model.config.num_heads)
    real = torch.ones(2, 2, dtype=torch.bool)
    faces = describe(model.config, model.projection.out_features, form.mask(real))
    start = export_part(
        Start(model, form, source_pad, special),
        [faces.inputs],
        [*names(faces.plan + faces.memory + faces.state), "empty", "go_on"],
    )
    step = export_part(
        Step(model, form, special),
        [faces.state, faces.cache, faces.plan, faces.memory],
        ["next.go_on", *(f"next.{name}" for name in names(faces.state + faces.cache)), LOGITS],
    )
    finish = export_part(Finish(special), [faces.state, faces.plan], ["padded", *OUTPUTS[1:]])
    return join(start, step, finish, faces, with_contrib=attention == "fused")


def export_part(
    part: nn.Module, arguments: Sequence[list[Value]], output_names: list[str]
) -> onnx.GraphProto:
    """One part as an ONNX graph; several groups of values are passed as lists, one as arguments."""
    groups = [examples(values) for values in arguments]
    axes = [dynamic_axes(values) for values in arguments]
    is_flat = len(arguments) == 1
    with quiet():
        program = torch.onnx.export(
            part.eval(),
            tuple(groups[0] if is_flat else groups),
            dynamo=True,
            opset_version=OPSET,
            external_data=False,
            dynamic_shapes=tuple(axes[0] if is_flat else axes),
            input_names=[name for values in arguments for name in names(values)],
            output_names=output_names,
            verbose=False,
        )
    assert program is not None
    proto: onnx.ModelProto = program.model_proto
    assert not proto.functions, "the exporter left functions behind"
    return proto.graph


@contextmanager
def quiet() -> Iterator[None]:
    """Hushes the exporter, which warns of axis names, of its own deprecations, of torchvision."""
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


def join(
    start: onnx.GraphProto,
    step: onnx.GraphProto,
    finish: onnx.GraphProto,
    faces: Interface,
    *,
    with_contrib: bool,
) -> onnx.ModelProto:
    """Start, a loop around step, finish: as one model without names, paths or traces of ours."""
    weights = Weights()
    carried = faces.state + faces.cache
    nodes = [
        helper.make_node("Range", ["zero", "beam_size", "one"], ["beams"]),
        helper.make_node("Range", ["zero", "num_best", "one"], ["places"]),
        *weights.take(start, "start/", names(faces.inputs)),
        helper.make_node("ReduceMax", ["plan.max_lengths"], ["num_steps"], keepdims=0),
        helper.make_node(
            "Loop",
            ["num_steps", "go_on", *names(faces.state), *["empty"] * len(faces.cache)],
            [f"last.{name}" for name in names(carried)],
            name="search",
            body=loop_body(step, faces, weights),
        ),
        *weights.take(
            finish,
            "finish/",
            [*names(faces.state), *names(faces.plan)],
            {name: f"last.{name}" for name in names(faces.state)},
        ),
        # Idle steps of a batch leave columns of padding behind.
        helper.make_node("ReduceMax", ["lengths"], ["width"], keepdims=0),
        helper.make_node("Reshape", ["width", "minus_one"], ["widths"]),
        helper.make_node("Slice", ["padded", "zeros", "widths", "twos"], ["target"]),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "minus_one": np.array([-1])}
    numbers |= {"zeros": np.array([0]), "twos": np.array([2])}
    extra = [onnx.numpy_helper.from_array(value, name) for name, value in numbers.items()]
    answers = [
        Value("target", torch.int64, ("batch", "num_best", "target_length")),
        Value("scores", torch.float32, ("batch", "num_best")),
        Value("lengths", torch.int64, ("batch", "num_best")),
    ]
    sizes = [Value(name, torch.int64, ()) for name in ("beam_size", "num_best")]
    graph = helper.make_graph(
        nodes,
        "translator",
        [tensor_info(value) for value in (*faces.inputs[:3], *sizes)],
        [tensor_info(value) for value in answers],
        [*extra, *weights.tensors],
    )
    imports = [helper.make_opsetid("", OPSET)]
    if with_contrib:
        imports.append(helper.make_opsetid("com.microsoft", 1))
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model


def loop_body(step: onnx.GraphProto, faces: Interface, weights: "Weights") -> onnx.GraphProto:
    """The step as the body of a `Loop`; what it doesn't carry it reads from the outer graph."""
    carried = faces.state + faces.cache
    go_on = Value("next.go_on", torch.bool, ())
    outputs = [
        value._replace(
            name=f"next.{value.name}",
            shape=tuple("grown_length" if a == "past_length" else a for a in value.shape),
        )
        for value in carried
    ]
    local: list[TensorProto] = []
    invariant = names(faces.plan + faces.memory)
    # Within a body no name of the outer graph may be used again for something else.
    inner = {name: f"before.{name}" for name in names(carried)}
    nodes = weights.take(step, "step/", [*inner, *invariant], inner, local)
    return helper.make_graph(
        nodes,
        "step",
        [
            tensor_info(Value("iteration", torch.int64, ())),
            tensor_info(Value("go_on_before", torch.bool, ())),
            *(tensor_info(value._replace(name=inner[value.name])) for value in carried),
        ],
        [tensor_info(value) for value in (go_on, *outputs)],
        local,
    )


def with_logits(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with one more output, `logits` float32 [T, B, W, V]: what each step computed."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    (loop,) = (node for node in shown.graph.node if node.op_type == "Loop")
    (body,) = (attribute.g for attribute in loop.attribute if attribute.name == "body")
    body.output.append(helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, None))
    loop.output.append(LOGITS)
    shown.graph.output.append(helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, None))
    return shown


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
            local: takes the small tensors, if given; without it they go to the outer graph.
        """
        table = {name: name for name in (*inputs, *(value.name for value in part.output))}
        table |= renamed or {}
        table[""] = ""  # an optional input left out
        for tensor in part.initializer:
            values = 1
            for size in tensor.dims:
                values *= size
            is_output = tensor.name in table
            if local is not None and values < MIN_SHARED_VALUES:
                table[tensor.name] = prefix + tensor.name
                local.append(plain_tensor(tensor, prefix + tensor.name))
                continue
            name = table[tensor.name] if is_output else prefix + tensor.name
            table[tensor.name] = self._keep(tensor, name, is_shared=not is_output)
        for node in part.node:
            for name in node.output:
                table.setdefault(name, prefix + name)
        return [plain_node(node, table) for node in part.node]

    def _keep(self, tensor: TensorProto, name: str, is_shared: bool) -> str:
        plain = plain_tensor(tensor, name)
        digest = hashlib.sha256(plain.raw_data).hexdigest()
        key = (plain.data_type, tuple(plain.dims), digest)
        if is_shared and key in self._names:
            return self._names[key]
        self._names.setdefault(key, name)
        self.tensors.append(plain)
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


def tensor_info(value: Value) -> onnx.ValueInfoProto:
    """A value's declaration."""
    return helper.make_tensor_value_info(value.name, TYPES[value.dtype], value.shape)


def serialise(model: onnx.ModelProto) -> bytes:
    """The file's bytes, the same for the same graph."""
    return model.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
