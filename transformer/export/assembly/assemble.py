"""Exported parts joined to one graph.

    start -> If one sentence, one beam: Loop over greedy steps
             else: Loop over phases (Loop over steps -> settle)

Matrices stand once, in the outermost graph; what doesn't change from step to step (the cross keys,
the plan of the search, whatever follows from them) a loop's body reads from the graph around it, so
that a loop carries only what it changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from transformer.export.assembly.weights import Weights
from transformer.export.signatures import Interface, Value, names

OPSET = 20
IR_VERSION = 10
ANSWERS = ("target", "scores", "lengths")
# What a step computes on the way, by its name in the loop's body; `with_logits` shows it.
LOGITS = "step.logits"
GREEDY_LOGITS = "greedy.logits"
# The places in a phase that the next one keeps.
ACTIVE = Value("active", torch.int64, ("active",))
TYPES = {
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.int8: TensorProto.INT8,
    torch.float32: TensorProto.FLOAT,
    torch.float16: TensorProto.FLOAT16,
    torch.bool: TensorProto.BOOL,
}


class Parts(NamedTuple):
    """The exported graphs, and what they hand to each other."""

    start: onnx.GraphProto
    step: onnx.GraphProto
    settle: onnx.GraphProto
    greedy_step: onnx.GraphProto
    greedy_finish: onnx.GraphProto
    faces: Interface


def join(parts: Parts, bos: int, with_contrib: bool) -> onnx.ModelProto:
    """Start, then one of two searches: as one model without names, paths or traces of ours.

    Args:
        parts: of one model, in one precision.
        bos: the start mark, as the search knows it.
        with_contrib: whether onnxruntime's own operators are among the nodes.
    """
    faces, weights = parts.faces, Weights()
    answers = [
        Value("target", torch.int64, ("batch", "num_best", "target_length")),
        Value("scores", torch.float32, ("batch", "num_best")),
        Value("lengths", torch.int64, ("batch", "num_best")),
    ]
    found = names(answers)
    look_up: list[onnx.NodeProto] = []
    if faces.words:
        found[0] = "listed_target"
        look_up = [helper.make_node("Gather", [faces.words[0].name, found[0]], ["target"])]
    nodes = [
        helper.make_node("Range", ["zero", "beam_size", "one"], ["beams"]),
        helper.make_node("Range", ["zero", "num_best", "one"], ["places"]),
        *weights.take(parts.start, "start/", names(faces.inputs)),
        helper.make_node("Size", ["max_length"], ["batch_size"]),
        helper.make_node("Mul", ["batch_size", "beam_size"], ["num_hypotheses"]),
        helper.make_node("Equal", ["num_hypotheses", "one"], ["is_alone"]),
        helper.make_node(
            "If",
            ["is_alone"],
            found,
            name="search",
            then_branch=greedy_branch(parts, bos, weights),
            else_branch=beam_branch(parts, weights),
        ),
        *look_up,
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "minus_one": np.array([-1])}
    numbers |= {"zeros": np.array([0]), "twos": np.array([2]), "true": np.array(True)}
    extra = [onnx.numpy_helper.from_array(value, name) for name, value in numbers.items()]
    sizes = [Value(name, torch.int64, ()) for name in ("beam_size", "num_best")]
    graph = helper.make_graph(
        nodes,
        "translator",
        [tensor_info(value) for value in (*faces.inputs[:4], *sizes)],
        [tensor_info(value) for value in answers],
        [*extra, *weights.tensors],
    )
    imports = [helper.make_opsetid("", OPSET)]
    if with_contrib:
        imports.append(helper.make_opsetid("com.microsoft", 1))
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model


def greedy_branch(parts: Parts, bos: int, weights: Weights) -> onnx.GraphProto:
    """One sentence, one beam: a loop over greedy steps."""
    faces = parts.faces
    past = faces.cache[1:]
    carried = [*faces.greedy, *(alone(value) for value in past)]
    inner = {value.name: f"greedy.before.{value.name}" for value in carried}
    tensors: list[TensorProto] = []
    table = {"max_length": "plan.max_lengths", **inner}
    outer = names(faces.words + faces.memory)
    nodes = weights.take(parts.greedy_step, "greedy/", [*table, *outer], table, tensors)
    hoisted, rest = hoist(nodes, inner.values())
    body = helper.make_graph(
        rest,
        "greedy_step",
        [
            *loop_inputs("greedy"),
            *(tensor_info(value._replace(name=inner[value.name])) for value in carried),
        ],
        [
            tensor_info(Value("greedy.go_on", torch.bool, ())),
            *(tensor_info(varied(value)) for value in renamed("greedy.next", carried)),
            tensor_info(Value("greedy.taken", torch.int64, (1, 1))),
        ],
    )
    finish = {"tokens": "greedy.tokens", "total": "greedy.last.greedy.total"}
    finish["penalty"] = "length_penalty"
    outputs = [Value(f"greedy.answer.{name}", torch.int64, (1, 1)) for name in ANSWERS]
    outputs[0] = outputs[0]._replace(shape=(1, 1, "target_length"))
    outputs[1] = outputs[1]._replace(dtype=torch.float32)
    first = {"greedy.zero": np.array(0), "greedy.bos": np.array([[bos]])}
    first["greedy.none"] = np.array(0, dtype=np.float32)
    return helper.make_graph(
        [
            *hoisted,
            helper.make_node("Greater", ["plan.max_lengths", "greedy.zero"], ["greedy.has_room"]),
            helper.make_node("Reshape", ["greedy.has_room", "greedy.scalar"], ["greedy.is_open"]),
            helper.make_node(
                "Loop",
                ["", "greedy.is_open", *first, *["empty_past"] * len(past)],
                [*names(renamed("greedy.last", carried)), "greedy.tokens"],
                name="greedy_steps",
                body=body,
            ),
            *weights.take(parts.greedy_finish, "greedy_finish/", [*finish], finish, tensors),
        ],
        "greedy",
        [],
        [tensor_info(value) for value in outputs],
        [
            *(onnx.numpy_helper.from_array(value, name) for name, value in first.items()),
            onnx.numpy_helper.from_array(np.zeros(0, dtype=np.int64), "greedy.scalar"),
            *tensors,
        ],
    )


def beam_branch(parts: Parts, weights: Weights) -> onnx.GraphProto:
    """Any batch and any number of beams: phases of steps."""
    faces = parts.faces
    carried = faces.phase + faces.state + faces.cache
    first = [*names(faces.phase + faces.state), "empty_reach"]
    first += ["empty_past"] * (len(faces.cache) - 1)
    outputs = [value._replace(name=f"beam.{value.name}") for value in faces.answers]
    outputs = [varied(value) for value in outputs]
    return helper.make_graph(
        [
            helper.make_node(
                "Loop",
                ["", "true", *first],
                names(renamed("last", carried)),
                name="phases",
                body=phase_body(parts, weights),
            ),
            # Steps that were idle for the row of most tokens left columns of padding behind.
            helper.make_node("ReduceMax", ["last.answers.lengths"], ["width"], keepdims=0),
            helper.make_node("Reshape", ["width", "minus_one"], ["widths"]),
            helper.make_node(
                "Slice", ["last.answers.target", "zeros", "widths", "twos"], [outputs[0].name]
            ),
            helper.make_node("Identity", ["last.answers.scores"], [outputs[1].name]),
            helper.make_node("Identity", ["last.answers.lengths"], [outputs[2].name]),
        ],
        "beam",
        [],
        [tensor_info(value) for value in outputs],
    )


def phase_body(parts: Parts, weights: Weights) -> onnx.GraphProto:
    """A phase as the body of the outer `Loop`: the steps, then what remains of the batch."""
    faces = parts.faces
    stepped = faces.state + faces.cache
    carried = faces.phase + stepped
    # Within a body no name of the graph around it may be used again for something else.
    inner = {name: f"phase.{name}" for name in names(carried)}
    after = inner | {name: f"stepped.{name}" for name in names(stepped)}
    constants = names(faces.constants)
    tensors: list[TensorProto] = []
    hoisted, body = step_body(parts.step, faces, inner, weights, tensors)
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
        *weights.take(parts.settle, "settle/", [ACTIVE.name, *after, *constants], after, tensors),
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
    weights: Weights,
    tensors: list[TensorProto],
) -> tuple[list[onnx.NodeProto], onnx.GraphProto]:
    """The step as the body of the inner `Loop`, and what of it is the same for all steps.

    What is computed from the stored weights alone, such as their transposes, is so as well.
    onnxruntime does that on loading, and packs a weight for its products ahead of time if the loop
    reads it from the next graph, not from the one after that.

    Returns:
        Nodes for the graph around the loop, and the body.
    """
    carried = faces.state + faces.cache
    inner = {name: f"before.{name}" for name in names(carried)}
    table = {**outer, **inner}
    nodes = weights.take(step, "step/", [*table, *names(faces.constants)], table, tensors)
    measure_invariants(nodes, faces, table)
    hoisted, rest = hoist(nodes, inner.values())
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


def hoist(
    nodes: Sequence[onnx.NodeProto], carried: Iterable[str]
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """The nodes that no carried value reaches, and the others; each in their order."""
    varying = set(carried)
    hoisted, rest = [], []
    for node in nodes:
        if varying.isdisjoint(node.input):
            hoisted.append(node)
        else:
            rest.append(node)
            varying.update(node.output)
    return hoisted, rest


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
    return value._replace(
        shape=tuple(f"next_{axis}" if axis in changing else axis for axis in value.shape)
    )


def alone(value: Value) -> Value:
    """The value for a batch of one."""
    return value._replace(shape=tuple(1 if axis == "batch" else axis for axis in value.shape))


def tensor_info(value: Value) -> onnx.ValueInfoProto:
    """A value's declaration."""
    return helper.make_tensor_value_info(value.name, TYPES[value.dtype], value.shape)
