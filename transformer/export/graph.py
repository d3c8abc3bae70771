"""The translator as one ONNX graph.

    source, max_length, length_penalty, beam_size, num_best
      -> Start (encoder, cross keys with values, first state)
      -> Loop over phases (Loop over steps (Step: cached decoder, search) -> Settle)
      -> target, scores, lengths

The parts are exported by PyTorch one by one, then joined here. Weights stand once, in the graph
around those that read them; what doesn't change from step to step (the cross keys,
the plan of the search, whatever follows from them) the inner body reads from the outer one, so
that a loop carries only what it changes.
"""

import copy
import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

from transformer.decoding.beam import SpecialIds
from transformer.export.attention import Attention, FusedAttention, PortableAttention
from transformer.export.interface import (
    Interface,
    Value,
    describe,
    dynamic_axes,
    examples,
    names,
)
from transformer.export.parts import Settle, Start, Step
from transformer.export.quantise import quantise
from transformer.model.transformer import Transformer

Precision = Literal["float32", "int8", "float16"]

OPSET = 20
IR_VERSION = 10
INPUTS = ["source", "max_length", "length_penalty", "beam_size", "num_best"]
OUTPUTS = ["target", "scores", "lengths"]
# What a step computes on the way, by its name in the loop's body; `with_logits` shows it.
LOGITS = "logits"
# The places in a phase that the next one keeps.
ACTIVE = Value("active", torch.int64, ("active",))
ATTENTION: dict[str, type[FusedAttention] | type[PortableAttention]] = {
    "fused": FusedAttention,
    "portable": PortableAttention,
}
TYPES = {
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.float32: TensorProto.FLOAT,
    torch.float16: TensorProto.FLOAT16,
    torch.bool: TensorProto.BOOL,
}


def build_graphs(
    model: Transformer,
    *,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    precisions: Sequence[Precision],
) -> dict[Precision, onnx.ModelProto]:
    """The whole translator in each precision; the same model gives the same bytes.

    Args:
        model: on the CPU in float32, in evaluation mode; it is not changed.
        source_pad: padding mark of the source vocabulary.
        special: marks of the target vocabulary.
        attention: "fused" or "portable", see `transformer.export.attention`.
        precisions: float32; int8, see `transformer.export.quantise`; float16, whose scores are
            float32 all the same.

    Returns:
        Models whose inputs and outputs are:
        - source int64 [B, S], padded; max_length int64 [B]; length_penalty float32 [];
          beam_size int64 []; num_best int64 [], at most beam_size;
        - target int64 [B, N, T]; scores float32 [B, N]; lengths int64 [B, N], as in
          `transformer.decoding.beam.SearchResult`.
    """
    is_fused = attention == "fused"
    graphs = {}
    for dtype, of_type in (
        (torch.float32, ("float32", "int8")),
        (torch.float16, ("float16",)),
    ):
        wanted = [precision for precision in precisions if precision in of_type]
        if not wanted:
            continue
        parts = export_parts(model, dtype, source_pad, special, attention)
        for precision in wanted:
            start, step = parts.start, parts.step
            if precision == "int8":
                start, step = (quantise(part, is_fused=is_fused) for part in (start, step))
            graphs[precision] = join(parts._replace(start=start, step=step), is_fused)
    return graphs


def export_parts(
    model: Transformer,
    dtype: torch.dtype,
    source_pad: int,
    special: SpecialIds,
    attention: str,
) -> "Parts":
    """The parts of a model as ONNX graphs, its weights of the type."""
    if dtype != torch.float32:
        model = copy.deepcopy(model).to(dtype)
    form: Attention = ATTENTION[attention](model.config.num_heads)
    mask = form.mask(torch.ones(2, 2, dtype=torch.bool), dtype)
    faces = describe(model.config, model.projection.out_features, mask, dtype)
    start = export_part(
        Start(model, form, source_pad, special),
        [faces.inputs],
        names([*faces.plan, *faces.memory, *faces.state])
        + ["empty_reach", "empty_past", *names([*faces.answers, *faces.rows])],
    )
    step = export_part(
        Step(model, form, special),
        [faces.plan, faces.memory, faces.state, faces.cache],
        ["next.go_on", *names(renamed("next", faces.state + faces.cache)), LOGITS],
    )
    settle = export_part(
        Settle(special),
        [
            [ACTIVE],
            faces.answers,
            faces.rows,
            faces.plan,
            faces.memory,
            faces.state,
            faces.cache,
        ],
        names(renamed("settled", faces.phase + faces.state + faces.cache)),
        single=(0, 2),
    )
    return Parts(start, step, settle, faces)


def export_part(
    part: nn.Module,
    arguments: Sequence[list[Value]],
    output_names: list[str],
    single: Sequence[int] = (),
) -> onnx.GraphProto:
    """One part as an ONNX graph.

    Args:
        part: a module; each of its arguments is a list of tensors, those of a single argument
            excepted, which are its arguments themselves.
        arguments: the values of each.
        output_names: of the part's results, in order.
        single: which arguments are a tensor, not a list of one.
    """
    groups: list[Any] = [examples(values) for values in arguments]
    axes: list[Any] = [dynamic_axes(values) for values in arguments]
    for index in single:
        (groups[index],), (axes[index],) = groups[index], axes[index]
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


class Parts(NamedTuple):
    """The exported graphs, and what they hand to each other."""

    start: onnx.GraphProto
    step: onnx.GraphProto
    settle: onnx.GraphProto
    faces: Interface


def join(parts: Parts, with_contrib: bool) -> onnx.ModelProto:
    """Start, then phases of steps: as one model without names, paths or traces of ours."""
    start, step, settle, faces = parts
    weights = Weights()
    carried = faces.phase + faces.state + faces.cache
    first = [*names(faces.phase + faces.state), "empty_reach"]
    first += ["empty_past"] * (len(faces.cache) - 1)
    nodes = [
        helper.make_node("Range", ["zero", "beam_size", "one"], ["beams"]),
        helper.make_node("Range", ["zero", "num_best", "one"], ["places"]),
        *weights.take(start, "start/", names(faces.inputs)),
        helper.make_node(
            "Loop",
            ["", "true", *first],
            names(renamed("last", carried)),
            name="phases",
            body=phase_body(step, settle, faces, weights),
        ),
        # Steps that were idle for the row of most tokens left columns of padding behind.
        helper.make_node("ReduceMax", ["last.answers.lengths"], ["width"], keepdims=0),
        helper.make_node("Reshape", ["width", "minus_one"], ["widths"]),
        helper.make_node("Slice", ["last.answers.target", "zeros", "widths", "twos"], ["target"]),
        helper.make_node("Identity", ["last.answers.scores"], ["scores"]),
        helper.make_node("Identity", ["last.answers.lengths"], ["lengths"]),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "minus_one": np.array([-1])}
    numbers |= {"zeros": np.array([0]), "twos": np.array([2]), "true": np.array(True)}
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


def phase_body(
    step: onnx.GraphProto, settle: onnx.GraphProto, faces: Interface, weights: "Weights"
) -> onnx.GraphProto:
    """A phase as the body of the outer `Loop`: the steps, then what remains of the batch."""
    stepped = faces.state + faces.cache
    carried = faces.phase + stepped
    # Within a body no name of the graph around it may be used again for something else.
    inner = {name: f"phase.{name}" for name in names(carried)}
    after = inner | {name: f"stepped.{name}" for name in names(stepped)}
    constants = names(faces.constants)
    tensors: list[TensorProto] = []
    hoisted, body = step_body(step, faces, inner, weights, tensors)
    nodes = [
        *hoisted,
        helper.make_node(
            "Loop",
            ["", "true", *(inner[name] for name in names(stepped))],
            [after[name] for name in names(stepped)],
            name="steps",
            body=body,
        ),
        helper.make_node("Not", [after["state.is_row_done"]], ["is_active"]),
        helper.make_node("NonZero", ["is_active"], ["active_2d"]),
        helper.make_node("Reshape", ["active_2d", "minus_one"], [ACTIVE.name]),
        *weights.take(settle, "settle/", [ACTIVE.name, *after, *constants], after, tensors),
        helper.make_node("Size", [ACTIVE.name], ["num_active"]),
        helper.make_node("Cast", ["num_active"], ["phase.go_on"], to=TensorProto.BOOL),
    ]
    return helper.make_graph(
        nodes,
        "phase",
        [
            *loop_inputs("phase"),
            *(tensor_info(value._replace(name=inner[value.name])) for value in carried),
        ],
        [
            tensor_info(Value("phase.go_on", torch.bool, ())),
            *(tensor_info(varied(value)) for value in renamed("settled", carried)),
        ],
        tensors,
    )


def step_body(
    step: onnx.GraphProto,
    faces: Interface,
    outer: Mapping[str, str],
    weights: "Weights",
    tensors: list[TensorProto],
) -> tuple[list[onnx.NodeProto], onnx.GraphProto]:
    """The step as the body of the inner `Loop`, and what of it is the same for all steps.

    The step's weights go to `tensors`, for the graph around the loop: onnxruntime packs a weight
    for its products once, ahead of time, if the loop reads it from the next graph, not the one
    after that.

    Returns:
        Nodes for the graph around the loop, and the body.
    """
    carried = faces.state + faces.cache
    inner = {name: f"before.{name}" for name in names(carried)}
    table = {**outer, **inner}
    nodes = weights.take(step, "step/", [*table, *names(faces.constants)], table, tensors)
    measure_invariants(nodes, faces, table)
    varying = {*inner.values()}
    hoisted, rest = [], []
    for node in nodes:
        if varying.isdisjoint(node.input):
            hoisted.append(node)
        else:
            rest.append(node)
            varying.update(node.output)
    body = helper.make_graph(
        rest,
        "step",
        [
            *loop_inputs("step"),
            *(tensor_info(value._replace(name=inner[value.name])) for value in carried),
        ],
        [
            tensor_info(Value("next.go_on", torch.bool, ())),
            *(tensor_info(varied(value)) for value in renamed("next", carried)),
        ],
    )
    return hoisted, body


def measure_invariants(
    nodes: Sequence[onnx.NodeProto], faces: Interface, table: Mapping[str, str]
) -> None:
    """Lets the sizes of what a loop carries be taken from what it doesn't, where they are equal.

    The exporter takes the size of an axis from any value that has it. An axis of one name has one
    size, and what follows from an invariant one can be computed before the loop.
    """
    still = {
        axis: (table.get(value.name, value.name), index)
        for value in [*faces.plan, *faces.answers]
        for index, axis in enumerate(value.shape)
        if axis in ("batch", "beams", "places")
    }
    carried = {table[value.name]: value.shape for value in faces.state + faces.cache}
    for node in nodes:
        if node.op_type != "Shape" or node.input[0] not in carried:
            continue
        shape = carried[node.input[0]]
        at = {attribute.name: attribute.i for attribute in node.attribute}
        start, end = at.get("start", 0), at.get("end", len(shape))
        if end == start + 1 and shape[start] in still:
            node.input[0], start = still[str(shape[start])]
            for attribute in node.attribute:
                attribute.i = start if attribute.name == "start" else start + 1


def loop_inputs(name: str) -> list[onnx.ValueInfoProto]:
    """What a `Loop` tells its body: the number of the iteration, whether it was to run."""
    return [
        tensor_info(Value(f"{name}.iteration", torch.int64, ())),
        tensor_info(Value(f"{name}.is_wanted", torch.bool, ())),
    ]


def renamed(prefix: str, values: Sequence[Value]) -> list[Value]:
    """The values under a name that tells where they are in their way through the loops."""
    return [value._replace(name=f"{prefix}.{value.name}") for value in values]


def varied(value: Value) -> Value:
    """The value with other names for the axes that an iteration changes."""
    changing = ("batch", "hypotheses", "pool", "past", "past_steps", "answer_length")
    axes = {axis: f"next_{axis}" for axis in changing}
    return value._replace(shape=tuple(axes.get(axis, axis) for axis in value.shape))


def with_logits(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with one more output: `logits`, what each step computed.

    float32 [1, T, 1, W, V] for a batch of one; a larger one may change from phase to phase, and
    has none.
    """
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    graph = shown.graph
    for name in ("phases", "steps"):
        (loop,) = (node for node in graph.node if node.name == name)
        (body,) = (attribute.g for attribute in loop.attribute if attribute.name == "body")
        # A body's further outputs are gathered over its iterations.
        inner = LOGITS if name == "steps" else f"{LOGITS}.phase"
        outer = f"{LOGITS}.phase" if name == "steps" else f"{LOGITS}.all"
        body.output.append(helper.make_tensor_value_info(inner, TensorProto.FLOAT, None))
        loop.output.append(outer)
        graph = body
    shown.graph.output.append(
        helper.make_tensor_value_info(f"{LOGITS}.all", TensorProto.FLOAT, None)
    )
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
            local: takes the tensors that the outer graph doesn't have yet, if given; without it
                they go there.
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
        if local is None:
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


def tensor_info(value: Value) -> onnx.ValueInfoProto:
    """A value's declaration."""
    return helper.make_tensor_value_info(value.name, TYPES[value.dtype], value.shape)


def serialise(model: onnx.ModelProto) -> bytes:
    """The file's bytes, the same for the same graph."""
    return model.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
