"""Exported subgraphs put together to one graph.

    begin -> If one beam: Loop over rounds (Loop over greedy steps, end of the round)
             else: Loop over rounds (Loop over steps, end of the round)

A single sentence has loops over steps of its own, without rounds.

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
OUTPUTS = ["target", "scores", "lengths"]
# Begins the names of a subgraph's outputs, of which many are called as its inputs are.
MADE = "made."

Scope = Mapping[str, ir.Value]


class Subgraphs(NamedTuple):
    """The exported graphs, and what they hand to each other."""

    begin: onnx.GraphProto
    begin_beam: onnx.GraphProto
    step: onnx.GraphProto
    single_beam_step: onnx.GraphProto  # for a single sentence
    finish_beam: onnx.GraphProto  # likewise
    end_round: onnx.GraphProto
    begin_greedy: onnx.GraphProto
    greedy_step: onnx.GraphProto
    single_step: onnx.GraphProto  # for a single sentence
    end_greedy_round: onnx.GraphProto
    finish_greedy: onnx.GraphProto
    signatures: Signatures


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


class Block(list[ir.Node]):
    """The nodes of one graph, in the order in which they run."""

    def op(
        self, op_type: str, inputs: Sequence[ir.Value | None], name: str, **attributes: Any
    ) -> ir.Value:
        """One more node, with one output of that name."""
        output = ir.Value(name=name)
        self.append(ir.node(op_type, inputs, attributes, outputs=[output], name=name))
        return output


# Makes nodes among given ones, from a scope, and their tensors: the answers.
Search = Callable[[Block, Scope, list[ir.Value]], list[ir.Value]]


class _Assembly:
    def __init__(self, parts: Subgraphs, with_contrib: bool, with_logits: bool) -> None:
        self._parts, self._signatures = parts, parts.signatures
        self._with_contrib, self._with_logits = with_contrib, with_logits
        self._scanned = ["logits"] if with_logits else []
        self._tensors: list[ir.Value] = []  # of the outermost graph
        self._kept: dict[tuple[Any, ...], ir.Value] = {}

    def run(self) -> onnx.ModelProto:
        signatures, nodes = self._signatures, Block()
        inputs = {value.name: declared(value) for value in signatures.inputs}
        num_beams, num_best = inputs["beam_size"], inputs["num_best"]
        zero, one = self._constant("zero", 0), self._constant("one", 1)
        scope = dict(inputs)
        scope["beams"] = nodes.op("Range", [zero, num_beams, one], "beams")
        scope["slots"] = nodes.op("Range", [zero, num_best, one], "slots")
        scope = dict(self._place(nodes, self._parts.begin, scope, "begin", None))
        is_greedy = nodes.op("Equal", [num_beams, one], "is_greedy")
        branches = {"then_branch": self._greedy(scope), "else_branch": self._beam(scope)}
        results = [declared(value) for value in signatures.outputs]
        if self._with_logits:
            axes = ("steps", "batch", "beams", "vocabulary")
            results.append(declared(Value("logits", torch.float32, axes)))
        found = [ir.Value(name="padded_target"), *results[1:]]
        nodes.append(ir.node("If", [is_greedy], branches, outputs=found, name="search"))
        # Steps that were idle for the row of most tokens left columns of padding behind.
        width = nodes.op("ReduceMax", [results[2]], "width", keepdims=0)
        widths = nodes.op("Reshape", [width, self._constant("minus_one", [-1])], "widths")
        zeros, twos = self._constant("zeros", [0]), self._constant("twos", [2])
        cut = ir.node("Slice", [found[0], zeros, widths, twos], name="cut")
        nodes.append(cut)
        cut.outputs[0].name = "listed_target" if signatures.shortlist else "target"
        if not signatures.shortlist:
            results[0] = cut.outputs[0]
            declare_type(results[0], signatures.outputs[0])
        else:  # the tokens that the search found are places in it
            ids = scope["shortlist.ids"]
            listed = [ids, cut.outputs[0]]
            nodes.append(ir.node("Gather", listed, outputs=results[:1], name="target"))
            if self._with_logits:
                declare_type(ids, signatures.shortlist[0])
                results.append(ids)
        graph = ir.Graph(
            list(inputs.values()),
            results,
            nodes=nodes,
            initializers=self._tensors,
            name="translator",
            opset_imports={"": OPSET} | ({"com.microsoft": 1} if self._with_contrib else {}),
        )
        model = ir.Model(graph, ir_version=IR_VERSION)
        ClearMetadataAndDocStringPass()(model)
        proto = ir.to_proto(model)
        onnx.checker.check_model(proto)
        return proto

    def _greedy(self, scope: Scope) -> ir.Graph:
        """One beam: rounds of greedy steps, or one sentence's loop over them."""
        nodes, tensors = Block(), list[ir.Value]()
        scope = self._place(nodes, self._parts.begin_greedy, scope, "begin_greedy", tensors)
        answers = self._by_size(nodes, scope, "greedy", self._single, self._greedy_rounds)
        return ir.Graph([], answers, nodes=nodes, initializers=tensors, name="greedy")

    def _by_size(
        self, nodes: Block, scope: Scope, name: str, one: Search, many: Search
    ) -> list[ir.Value]:
        """The answers of one search for a single sentence, of another for several."""
        size = nodes.op("Size", [scope["max_length"]], f"{name}.batch_size")
        is_single = nodes.op("Equal", [size, self._constant("one", 1)], f"{name}.is_single")
        branches = {}
        for branch, search in (("then_branch", one), ("else_branch", many)):
            inner, own = Block(), list[ir.Value]()
            found = search(inner, scope, own)
            title = search.__name__.strip("_")
            branches[branch] = ir.Graph([], found, nodes=inner, initializers=own, name=title)
        answers = [ir.Value(name=f"{name}.{output}") for output in (*OUTPUTS, *self._scanned)]
        nodes.append(ir.node("If", [is_single], branches, outputs=answers, name=name))
        return answers

    def _has_room(self, nodes: Block, scope: Scope, name: str, tensors: list[ir.Value]) -> ir.Value:
        """Whether a single sentence has a first step."""
        scalar = constant(f"{name}.scalar", np.zeros(0, dtype=np.int64))
        tensors.append(scalar)
        is_open = nodes.op("Not", [scope["state.is_row_done"]], f"{name}.is_open")
        return nodes.op("Reshape", [is_open, scalar], f"{name}.has_room")

    def _single(self, nodes: Block, scope: Scope, tensors: list[ir.Value]) -> list[ir.Value]:
        """One sentence, one beam: a loop over greedy steps."""
        has_room = self._has_room(nodes, scope, "single", tensors)
        part = self._parts.single_step
        scope = self._steps(nodes, scope, has_room, part, "single", tensors, is_greedy=True)
        row = constant("single.row", [1, -1])
        tensors.append(row)
        taken = nodes.op("Reshape", [scope["taken"], row], "single.taken")
        answers = {"answers.target": taken, "answers.totals": scope["state.totals"]}
        return self._finish_greedy(nodes, {**scope, **answers}, "single", tensors)

    def _greedy_rounds(self, nodes: Block, scope: Scope, tensors: list[ir.Value]) -> list[ir.Value]:
        """Any batch, one beam: rounds of greedy steps."""
        inner: list[ir.Value] = []

        def build(nodes: Block, scope: Scope) -> Scope:
            true = self._constant("true", True)
            part = self._parts.greedy_step
            scope = self._steps(nodes, scope, true, part, "greedy", inner, is_greedy=True)
            return self._end_round(nodes, scope, self._parts.end_greedy_round, "greedy", inner)

        scope = self._rounds(nodes, "greedy", scope, self._signatures.greedy_round, build, inner)
        return self._finish_greedy(nodes, scope, "greedy", tensors)

    def _finish_greedy(
        self, nodes: Block, scope: Scope, name: str, tensors: list[ir.Value]
    ) -> list[ir.Value]:
        part = self._parts.finish_greedy
        scope = self._place(nodes, part, scope, f"{name}_finish", tensors)
        return self._answer([scope[name] for name in OUTPUTS], scope)

    def _beam(self, scope: Scope) -> ir.Graph:
        """Any number of beams: rounds of steps, or one sentence's loop over them."""
        nodes, tensors = Block(), list[ir.Value]()
        scope = self._place(nodes, self._parts.begin_beam, scope, "begin_beam", tensors)
        answers = self._by_size(nodes, scope, "beam", self._single_beam, self._beam_rounds)
        return ir.Graph([], answers, nodes=nodes, initializers=tensors, name="beam")

    def _single_beam(self, nodes: Block, scope: Scope, tensors: list[ir.Value]) -> list[ir.Value]:
        """One sentence, several beams: a loop over steps."""
        has_room = self._has_room(nodes, scope, "single_beam", tensors)
        part = self._parts.single_beam_step
        scope = self._steps(nodes, scope, has_room, part, "single_beam", tensors)
        scope = self._place(nodes, self._parts.finish_beam, scope, "single_beam_finish", tensors)
        return self._answer([scope[name] for name in OUTPUTS], scope)

    def _beam_rounds(self, nodes: Block, scope: Scope, tensors: list[ir.Value]) -> list[ir.Value]:
        """Any batch, several beams: rounds of steps."""
        inner: list[ir.Value] = []

        def build(nodes: Block, scope: Scope) -> Scope:
            true = self._constant("true", True)
            scope = self._steps(nodes, scope, true, self._parts.step, "beam", inner)
            return self._end_round(nodes, scope, self._parts.end_round, "beam", inner)

        scope = self._rounds(nodes, "beam", scope, self._signatures.round, build, inner)
        return self._answer([scope[f"answers.{name}"] for name in OUTPUTS], scope)

    def _steps(
        self,
        nodes: Block,
        scope: Scope,
        condition: ir.Value,
        part: onnx.GraphProto,
        name: str,
        tensors: list[ir.Value],
        *,
        is_greedy: bool = False,
    ) -> Scope:
        """A loop over steps of either search."""
        signatures = self._signatures
        carried, still, scanned = signatures.stepped, signatures.unstepped, self._scanned
        if is_greedy:
            carried, still = signatures.greedy_stepped, signatures.greedy_unstepped
            scanned = ["taken", *scanned]

        def body(nodes: Block, scope: Scope) -> Scope:
            after = self._place(nodes, part, scope, name, tensors)
            measure_invariants(nodes, scope, carried, still)
            return self._widen_logits(nodes, after, name)

        return self._loop(nodes, f"{name}_step", condition, carried, scope, body, scanned)

    def _rounds(
        self,
        nodes: Block,
        name: str,
        scope: Scope,
        carried: Sequence[Value],
        build: Callable[[Block, Scope], Scope],
        tensors: list[ir.Value],
    ) -> Scope:
        """Rounds until no row is left."""
        true = self._constant("true", True)
        scope = self._loop(
            nodes, f"{name}_round", true, carried, scope, build, self._scanned, tensors
        )
        if self._with_logits:
            zeros = self._constant("zeros", [0])
            logits = nodes.op("Squeeze", [scope["logits"], zeros], f"{name}.all_logits")
            scope = {**scope, "logits": logits}
        return scope

    def _end_round(
        self,
        nodes: Block,
        scope: Scope,
        part: onnx.GraphProto,
        name: str,
        tensors: list[ir.Value],
    ) -> Scope:
        """What remains of the batch."""
        minus_one = self._constant("minus_one", [-1])
        logits = {name: scope[name] for name in self._scanned}
        is_active = nodes.op("Not", [scope["state.is_row_done"]], f"{name}.is_active")
        is_active = nodes.op("Reshape", [is_active, minus_one], f"{name}.active_rows")
        where = nodes.op("NonZero", [is_active], f"{name}.active_2d")
        active = nodes.op("Reshape", [where, minus_one], f"{name}.active")
        scope = {**scope, "active": active}
        scope = self._place(nodes, part, scope, f"{name}_end", tensors)
        count = nodes.op("Size", [active], f"{name}.num_active")
        go_on = nodes.op("Cast", [count], f"{name}.go_on", to=int(ir.DataType.BOOL))
        return {**scope, **logits, "go_on": go_on}

    def _widen_logits(self, nodes: Block, scope: Scope, name: str) -> Scope:
        """A step's scope, with its logits as float32 if they are wanted."""
        if not self._with_logits:
            return scope
        to = int(ir.DataType.FLOAT)
        return {**scope, "logits": nodes.op("Cast", [scope["logits"]], f"{name}.logits", to=to)}

    def _answer(self, answers: list[ir.Value], scope: Scope) -> list[ir.Value]:
        """What a branch gives back, its types declared."""
        for answer, value in zip(answers, self._signatures.outputs, strict=True):
            declare_type(answer, value, VARYING_AXES)
        return [*answers, *(scope[name] for name in self._scanned)]

    def _loop(
        self,
        nodes: Block,
        name: str,
        condition: ir.Value,
        carried: Sequence[Value],
        scope: Scope,
        build: Callable[[Block, Scope], Scope],
        scanned: Sequence[str],
        tensors: Sequence[ir.Value] | None = None,
    ) -> Scope:
        """A `Loop` whose body carries some values of the scope.

        What the body computes of nothing that it carries goes before the loop. So does what follows
        from the stored weights alone, such as their transposes: onnxruntime does that on loading,
        and packs a weight for its products ahead of time if the loop reads it from the next graph,
        not from the one after that.

        Args:
            nodes: of the graph around the loop, which grow by it.
            name: of the body; it begins the names of values.
            condition: whether it begins at all.
            carried: what iterations hand on.
            scope: with what the first is handed.
            build: makes the body's nodes from the scope within, and gives their scope; that has
                `go_on`.
            scanned: names in that scope that are gathered over the iterations.
            tensors: the body's own; a body with its own stays whole.

        Returns:
            The scope after it.
        """
        inner = {
            value.name: declared(value._replace(name=f"{name}.{value.name}")) for value in carried
        }
        asked = [
            declared(Value(f"{name}.iteration", torch.int64, ())),
            declared(Value(f"{name}.is_wanted", torch.bool, ())),
        ]
        body = Block()
        results = build(body, {**scope, **inner})
        if tensors is None:
            hoisted, body = hoist(body, list(inner.values()))
            nodes.extend(hoisted)
        outputs = [results["go_on"], *(results[value.name] for value in carried)]
        for output, value in zip(outputs, [Value("", torch.bool, ()), *carried], strict=True):
            declare_type(output, value, VARYING_AXES)
        graph = ir.Graph(
            [*asked, *inner.values()],
            [*outputs, *(results[scan] for scan in scanned)],
            nodes=body,
            initializers=tensors or (),
            name=name,
        )
        after = {value.name: ir.Value(name=f"{name}.last.{value.name}") for value in carried}
        after |= {scan: ir.Value(name=f"{name}.all.{scan}") for scan in scanned}
        starts = [None, condition, *(scope[value.name] for value in carried)]
        outputs = list(after.values())
        nodes.append(ir.node("Loop", starts, {"body": graph}, outputs=outputs, name=f"{name}s"))
        return {**scope, **after}

    def _place(
        self,
        nodes: Block,
        part: onnx.GraphProto,
        scope: Scope,
        prefix: str,
        local: list[ir.Value] | None,
    ) -> Scope:
        """Places a subgraph among some nodes, and gives the scope with what it makes.

        Args:
            nodes: of the graph where it stands, which grow by its own.
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
        taken = list(graph)
        graph.outputs.clear()
        graph.remove(taken)
        for node in taken:
            for value in node.outputs:
                value.name = f"{prefix}/{str(value.name).removeprefix(MADE)}"
                value.shape, value.type = None, None
                value.metadata_props.clear()
            node.name = node.outputs[0].name
        nodes.extend(taken)
        return {**scope, **results}

    def _keep(self, value: ir.Value, prefix: str, local: list[ir.Value] | None) -> ir.Value:
        """A tensor; a matrix once, however many subgraphs hold it."""
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
            found = constant(name, value)
            self._tensors.append(found)
        return found


def hoist(nodes: Block, carried: Sequence[ir.Value]) -> tuple[Block, Block]:
    """The nodes that no carried value reaches, and the others; each in their order."""
    varying = set(carried)
    hoisted, rest = Block(), Block()
    for node in nodes:
        assert not any(a.type == ir.AttributeType.GRAPH for a in node.attributes.values()), (
            "a subgraph may read what is carried"
        )
        if varying.isdisjoint(node.inputs):
            hoisted.append(node)
        else:
            rest.append(node)
            varying.update(node.outputs)
    return hoisted, rest


def measure_invariants(
    nodes: Sequence[ir.Node], scope: Scope, carried: Sequence[Value], still: Sequence[Value]
) -> None:
    """Lets the sizes of what a loop carries be taken from what it doesn't, where they are equal.

    The exporter takes the size of an axis from any value that has it. An axis of one name has one
    size, and what follows from an invariant one can be computed before the loop.
    """
    sizes = {
        str(axis): (scope[value.name], index)
        for value in still
        for index, axis in enumerate(value.shape)
        if axis in ("batch", "beams", "slots")
    }
    shapes = {scope[value.name]: value.shape for value in carried}
    for node in nodes:
        shape = shapes.get(node.inputs[0]) if node.op_type == "Shape" else None  # type: ignore[arg-type]
        if shape is None:
            continue
        bounds = {name: node.attributes[name].as_int() for name in node.attributes}
        start, end = bounds.get("start", 0), bounds.get("end", len(shape))
        if end == start + 1 and shape[start] in sizes:
            value, axis = sizes[str(shape[start])]
            node.replace_input_with(0, value)
            node.attributes["start"] = ir.AttrInt64("start", axis)
            node.attributes["end"] = ir.AttrInt64("end", axis + 1)


def constant(name: str, value: Any) -> ir.Value:
    """A stored tensor."""
    return ir.Value(name=name, const_value=ir.tensor(np.asarray(value), name=name))


def declared(value: Value) -> ir.Value:
    """A value of declared type and shape."""
    made = ir.Value(name=value.name)
    declare_type(made, value)
    return made


def declare_type(made: ir.Value, value: Value, varying: Sequence[str] = ()) -> None:
    """Gives a value its declared type and shape; axes that an iteration varies get other names."""
    made.type = ir.TensorType(from_torch_dtype(value.dtype))
    made.shape = ir.Shape(f"next_{axis}" if axis in varying else axis for axis in value.shape)
