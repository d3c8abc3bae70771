"""Exported subgraphs put together to one graph.

    begin -> If one sentence, one beam: Loop over greedy steps
             else: Loop over rounds (Loop over steps, end of the round)

A subgraph reads and makes values by the names of their signatures; a scope says what stands under
each name where it is placed. Matrices stand once, in the outermost graph. What doesn't change from
step to step (the cross keys, the constants of the search, whatever follows from them) a loop's body
reads from the graph around it, so that a loop carries only what it changes.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import torch
from onnx_ir.passes.common import ClearMetadataAndDocStringPass
from onnx_ir.tensor_adapters import from_torch_dtype

from transformer.export.signatures import VARYING_AXES, Signatures, Value

OPSET = 20
IR_VERSION = 10
OUTPUTS = ("target", "scores", "lengths")
# Begins the names of a subgraph's outputs, of which many are called as its inputs are.
MADE = "made."

Scope = Mapping[str, ir.Value]


class Subgraphs(NamedTuple):
    """The exported graphs, and what they hand to each other."""

    begin: onnx.GraphProto
    step: onnx.GraphProto
    end_round: onnx.GraphProto
    greedy_step: onnx.GraphProto
    greedy_finish: onnx.GraphProto
    signatures: Signatures
    bos_id: int  # as the search knows it


def assemble(parts: Subgraphs, with_contrib: bool, with_logits: bool = False) -> onnx.ModelProto:
    """The whole translator as one model, without names, paths or traces of ours.

    Args:
        parts: of one model, in one precision.
        with_contrib: whether onnxruntime's own operators are among the nodes.
        with_logits: one more output, `logits`, float32 [T, B, W, V]: what each step computed. It
            exists where all rows are done at once, as in a batch of one or of equal sentences;
            other batches change from round to round, and fail. With a short-list
            `shortlist.ids`, int64 [n], follows, and n takes the place of V.
    """
    return _Assembly(parts, with_contrib, with_logits).run()


class _Assembly:
    def __init__(self, parts: Subgraphs, with_contrib: bool, with_logits: bool) -> None:
        self._parts, self._signatures = parts, parts.signatures
        self._with_contrib, self._with_logits = with_contrib, with_logits
        self._scanned = ["logits"] if with_logits else []
        self._tensors: list[ir.Value] = []  # of the outermost graph
        self._kept: dict[tuple[Any, ...], ir.Value] = {}

    def run(self) -> onnx.ModelProto:
        signatures = self._signatures
        inputs = {value.name: declared(value) for value in signatures.inputs}
        zero, one = self._constant("zero", 0), self._constant("one", 1)
        beams = ir.node("Range", [zero, inputs["beam_size"], one], outputs=[new("beams")])
        slots = ir.node("Range", [zero, inputs["num_best"], one], outputs=[new("slots")])
        scope = {**inputs, "beams": beams.outputs[0], "slots": slots.outputs[0]}
        begin, after = self._place(self._parts.begin, scope, "begin", None)
        scope = dict(after)
        size = ir.node("Size", [scope["max_length"]], outputs=[new("batch_size")])
        product = ir.node(
            "Mul", [size.outputs[0], inputs["beam_size"]], outputs=[new("num_hypotheses")]
        )
        is_alone = ir.node("Equal", [product.outputs[0], one], outputs=[new("is_alone")])
        results = [declared(value) for value in signatures.outputs]
        found = list(results)  # by the search, its tokens perhaps places in a short-list
        look_up: list[ir.Node] = []
        if signatures.shortlist:
            found[0] = new("listed_target")
            ids = scope["shortlist.ids"]
            look_up = [ir.node("Gather", [ids, found[0]], outputs=[results[0]])]
        if self._with_logits:
            axes = ("steps", "batch", "beams", "vocabulary")
            found.append(declared(Value("logits", torch.float32, axes)))
            results.append(found[-1])
            for value in signatures.shortlist[:1]:  # its ids
                declare_output(scope[value.name], value, ())
                results.append(scope[value.name])
        search = ir.node(
            "If",
            [is_alone.outputs[0]],
            {"then_branch": self._greedy_branch(scope), "else_branch": self._beam_branch(scope)},
            outputs=found,
            name="search",
        )
        nodes = [beams, slots, *begin, size, product, is_alone, search, *look_up]
        opsets = {"": OPSET} | ({"com.microsoft": 1} if self._with_contrib else {})
        graph = ir.Graph(
            list(inputs.values()),
            results,
            nodes=nodes,
            initializers=self._tensors,
            name="translator",
            opset_imports=opsets,
        )
        model = ir.Model(graph, ir_version=IR_VERSION)
        ClearMetadataAndDocStringPass()(model)
        proto = ir.to_proto(model)
        onnx.checker.check_model(proto)
        return proto

    def _greedy_branch(self, scope: Scope) -> ir.Graph:
        """One sentence, one beam: a loop over greedy steps."""
        signatures = self._signatures
        tensors: list[ir.Value] = []
        first = {"num_steps": np.array(0), "token": np.array([[self._parts.bos_id]])}
        first["total"] = np.array(0, dtype=np.float32)
        for name, value in first.items():
            tensors.append(constant(f"greedy.first.{name}", value))
        start = {f"greedy.{name}": value for name, value in zip(first, tensors, strict=True)}
        scalar = constant("greedy.scalar", np.zeros(0, dtype=np.int64))
        tensors.append(scalar)
        length = scope["constants.max_lengths"]
        has_room = ir.node("Greater", [length, tensors[0]], outputs=[new("greedy.has_room")])
        is_open = ir.node("Reshape", [has_room.outputs[0], scalar], outputs=[new("greedy.is_open")])

        def body(scope: Scope) -> tuple[list[ir.Node], Scope]:
            inner = {**scope, "max_length": length}
            nodes, results = self._place(self._parts.greedy_step, inner, "greedy", tensors)
            return self._show_logits("greedy", nodes, results)

        loop, scope = self._loop(
            "greedy_step",
            is_open.outputs[0],
            signatures.greedy,
            {**scope, **start},
            body,
            scanned=["taken", *self._scanned],
        )
        inner = {
            "tokens": scope["taken"],
            "total": scope["greedy.total"],
            "length_penalty": scope["length_penalty"],
        }
        finish, answers = self._place(self._parts.greedy_finish, inner, "greedy_finish", tensors)
        outputs = self._answer([answers[name] for name in OUTPUTS], scope)
        nodes = [has_room, is_open, *loop, *finish]
        return ir.Graph([], outputs, nodes=nodes, initializers=tensors, name="greedy")

    def _beam_branch(self, scope: Scope) -> ir.Graph:
        """Any batch and any number of beams: rounds of steps."""
        nodes, last = self._loop(
            "round",
            self._constant("true", True),
            self._signatures.round,
            scope,
            self._round,
            scanned=self._scanned,
        )
        # Steps that were idle for the row of most tokens left columns of padding behind.
        lengths = last["answers.lengths"]
        width = ir.node("ReduceMax", [lengths], {"keepdims": 0}, outputs=[new("width")])
        widths = ir.node(
            "Reshape",
            [width.outputs[0], self._constant("minus_one", [-1])],
            outputs=[new("widths")],
        )
        cut = ir.node(
            "Slice",
            [
                last["answers.target"],
                self._constant("zeros", [0]),
                widths.outputs[0],
                self._constant("twos", [2]),
            ],
            outputs=[new("beam.target")],
        )
        nodes += [width, widths, cut]
        if self._with_logits:
            axis = self._constant("zeros", [0])
            only = ir.node("Squeeze", [last["logits"], axis], outputs=[new("beam.logits")])
            nodes.append(only)
            last = {**last, "logits": only.outputs[0]}
        outputs = self._answer([cut.outputs[0], last["answers.scores"], lengths], last)
        return ir.Graph([], outputs, nodes=nodes, name="beam")

    def _answer(self, answers: list[ir.Value], scope: Scope) -> list[ir.Value]:
        """What a branch gives back, its types declared."""
        for made, value in zip(answers, self._signatures.outputs, strict=True):
            declare_output(made, value)
        return [*answers, *(scope[name] for name in self._scanned)]

    def _round(self, scope: Scope) -> tuple[list[ir.Node], Scope, list[ir.Value]]:
        """A round: the steps, then what remains of the batch."""
        signatures = self._signatures
        tensors: list[ir.Value] = []

        def body(scope: Scope) -> tuple[list[ir.Node], Scope]:
            nodes, results = self._place(self._parts.step, scope, "step", tensors)
            measure_invariants(nodes, scope, signatures)
            return self._show_logits("step", nodes, results)

        nodes, after = self._loop(
            "step",
            self._constant("true", True),
            signatures.stepped,
            scope,
            body,
            scanned=self._scanned,
        )
        is_active = ir.node("Not", [after["state.is_row_done"]], outputs=[new("is_active")])
        where = ir.node("NonZero", [is_active.outputs[0]], outputs=[new("active_2d")])
        minus_one = self._constant("minus_one", [-1])
        active = ir.node("Reshape", [where.outputs[0], minus_one], outputs=[new("active")])
        inner = {**after, "active": active.outputs[0]}
        end, results = self._place(self._parts.end_round, inner, "end_round", tensors)
        count = ir.node("Size", [active.outputs[0]], outputs=[new("num_active")])
        go_on = ir.node(
            "Cast", [count.outputs[0]], {"to": int(ir.DataType.BOOL)}, outputs=[new("round.go_on")]
        )
        nodes += [is_active, where, active, *end, count, go_on]
        results = {**results, "go_on": go_on.outputs[0]}
        if self._with_logits:
            results["logits"] = after["logits"]
        return nodes, results, tensors

    def _loop(
        self,
        name: str,
        condition: ir.Value,
        carried: Sequence[Value],
        scope: Scope,
        build: Callable[[Scope], tuple[Any, ...]],
        scanned: Sequence[str],
    ) -> tuple[list[ir.Node], Scope]:
        """A `Loop` whose body carries some values of the scope.

        What the body computes of nothing that it carries goes before the loop. So does what follows
        from the stored weights alone, such as their transposes: onnxruntime does that on loading,
        and packs a weight for its products ahead of time if the loop reads it from the next graph,
        not from the one after that.

        Args:
            name: of the body; it begins the names of values.
            condition: whether it begins at all.
            carried: what iterations hand on.
            scope: with what the first is handed.
            build: makes the body's nodes and scope from the scope within; the scope that it makes
                has `go_on`. A body with tensors of its own tells them too, and stays whole.
            scanned: names in that scope that are gathered over the iterations.

        Returns:
            Nodes for the graph around the loop, and the scope after it.
        """
        inner = {
            value.name: declared(value._replace(name=f"{name}.{value.name}")) for value in carried
        }
        asked = [
            declared(Value(f"{name}.iteration", torch.int64, ())),
            declared(Value(f"{name}.is_wanted", torch.bool, ())),
        ]
        nodes, results, *own = build({**scope, **inner})
        hoisted, rest = ([], nodes) if own else hoist(nodes, list(inner.values()))
        outputs = [results["go_on"], *(results[value.name] for value in carried)]
        for value, output in zip([Value("", torch.bool, ()), *carried], outputs, strict=True):
            declare_output(output, value)
        outputs += [results[scan] for scan in scanned]
        initializers = own[0] if own else ()
        body = ir.Graph(
            [*asked, *inner.values()], outputs, nodes=rest, initializers=initializers, name=name
        )
        after = {value.name: new(f"{name}.last.{value.name}") for value in carried}
        after |= {scan: new(f"{name}.all.{scan}") for scan in scanned}
        node = ir.node(
            "Loop",
            [None, condition, *(scope[value.name] for value in carried)],
            {"body": body},
            outputs=list(after.values()),
            name=f"{name}s",
        )
        return [*hoisted, node], {**scope, **after}

    def _show_logits(
        self, name: str, nodes: list[ir.Node], results: Scope
    ) -> tuple[list[ir.Node], Scope]:
        """A step's nodes and scope, with its logits as float32 if they are wanted."""
        if not self._with_logits:
            return nodes, results
        wide = ir.node(
            "Cast",
            [results["logits"]],
            {"to": int(ir.DataType.FLOAT)},
            outputs=[new(f"{name}.logits")],
        )
        return [*nodes, wide], {**results, "logits": wide.outputs[0]}

    def _place(
        self, part: onnx.GraphProto, scope: Scope, prefix: str, local: list[ir.Value] | None
    ) -> tuple[list[ir.Node], Scope]:
        """A subgraph's nodes, reading from a scope, and the scope with what it makes.

        Args:
            part: the exported graph.
            scope: what stands under the names of its inputs.
            prefix: begins the names of its values.
            local: takes its vectors and scalars; without it they go to the outermost graph, as
                matrices do in any case.
        """
        graph = ir.from_proto(part)
        for value in graph.inputs:
            value.replace_all_uses_with(scope[str(value.name)], replace_graph_outputs=True)
        for value in list(graph.initializers.values()):
            kept = self._keep(value, prefix, local)
            value.replace_all_uses_with(kept, replace_graph_outputs=True)
        made = [value.name.removeprefix(MADE) for value in part.output]
        results = dict(zip(made, graph.outputs, strict=True))
        nodes = list(graph)
        graph.outputs.clear()
        graph.remove(nodes)
        for node in nodes:
            for value in node.outputs:
                value.name, value.shape, value.type = f"{prefix}/{value.name}", None, None
            node.name = node.outputs[0].name
        return nodes, {**scope, **results}

    def _keep(self, value: ir.Value, prefix: str, local: list[ir.Value] | None) -> ir.Value:
        """A tensor, once however many subgraphs hold it."""
        array = value.const_value.numpy()  # type: ignore[union-attr]
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key in self._kept:
            return self._kept[key]
        kept = constant(f"{prefix}/{value.name}", array)
        if local is None or array.ndim > 1:
            self._kept[key] = kept
            self._tensors.append(kept)
        else:
            local.append(kept)
        return kept

    def _constant(self, name: str, value: Any) -> ir.Value:
        """A constant of the outermost graph, made once."""
        found = next((tensor for tensor in self._tensors if tensor.name == name), None)
        if found is None:
            found = constant(name, np.array(value))
            self._tensors.append(found)
        return found


def hoist(
    nodes: Sequence[ir.Node], carried: Sequence[ir.Value]
) -> tuple[list[ir.Node], list[ir.Node]]:
    """The nodes that no carried value reaches, and the others; each in their order."""
    varying = set(carried)
    hoisted, rest = [], []
    for node in nodes:
        if varying.isdisjoint(node.inputs):
            hoisted.append(node)
        else:
            rest.append(node)
            varying.update(node.outputs)
    return hoisted, rest


def measure_invariants(nodes: Sequence[ir.Node], scope: Scope, signatures: Signatures) -> None:
    """Lets the sizes of what a loop carries be taken from what it doesn't, where they are equal.

    The exporter takes the size of an axis from any value that has it. An axis of one name has one
    size, and what follows from an invariant one can be computed before the loop.
    """
    still = {
        str(axis): (scope[value.name], index)
        for value in signatures.unstepped
        for index, axis in enumerate(value.shape)
        if axis in ("batch", "beams", "slots")
    }
    carried = {scope[value.name]: value.shape for value in signatures.stepped}
    for node in nodes:
        shape = carried.get(node.inputs[0]) if node.op_type == "Shape" else None  # type: ignore[arg-type]
        if shape is None:
            continue
        bounds = {name: node.attributes[name].as_int() for name in node.attributes}
        start, end = bounds.get("start", 0), bounds.get("end", len(shape))
        if end == start + 1 and shape[start] in still:
            value, axis = still[str(shape[start])]
            node.replace_input_with(0, value)
            node.attributes["start"] = ir.AttrInt64("start", axis)
            node.attributes["end"] = ir.AttrInt64("end", axis + 1)


def new(name: str) -> ir.Value:
    """A value of that name, for a node to make."""
    return ir.Value(name=name)


def constant(name: str, value: Any) -> ir.Value:
    """A stored tensor."""
    return ir.Value(name=name, const_value=ir.tensor(np.asarray(value), name=name))


def declared(value: Value) -> ir.Value:
    """A value of declared type and shape."""
    made = ir.Value(name=value.name)
    declare_output(made, value, ())
    return made


def declare_output(made: ir.Value, value: Value, varying: Sequence[str] = VARYING_AXES) -> None:
    """Gives a value its declared type and shape; axes that an iteration changes get other names."""
    made.type = ir.TensorType(from_torch_dtype(value.dtype))
    made.shape = ir.Shape(f"next_{axis}" if axis in varying else axis for axis in value.shape)
