"""A model as one ONNX graph that translates.

    source, max_length, length_penalty, patience, beam_size, num_best -> target, scores, lengths

PyTorch exports the parts of `transformer.export.subgraphs` one by one, `joining` makes one graph of
them. Everything that a caller may choose is an input: the size of the beam and the number of
answers only size tensors. But one sentence with one beam takes a loop of its own, in the same file
and with the same weights, in which nothing is left of the search but the choice of a token.
"""

import copy
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

from transformer.export.assembly.assemble import (
    ACTIVE,
    ANSWERS,
    GREEDY_LOGITS,
    LOGITS,
    OPSET,
    Parts,
    alone,
    join,
    renamed,
)
from transformer.export.attention import Attention, FusedAttention, PortableAttention
from transformer.export.config import Precision
from transformer.export.quantize import Product, quantize, transpose_weights
from transformer.export.shortlist.choose import Shortlist
from transformer.export.shortlist.subgraph import LISTED_MARKS
from transformer.export.signatures import Value, describe, dynamic_axes, examples, names
from transformer.export.subgraphs import GreedyFinish, GreedyStep, Settle, Start, Step
from transformer.model.transformer import Transformer
from transformer.search.beam import SpecialIds

INPUTS = ["source", "max_length", "length_penalty", "patience", "beam_size", "num_best"]
OUTPUTS = [*ANSWERS]
ATTENTION: dict[str, type[FusedAttention] | type[PortableAttention]] = {
    "fused": FusedAttention,
    "portable": PortableAttention,
}


def build_graphs(
    model: Transformer,
    *,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    precisions: Sequence[Precision],
    shortlist: Shortlist | None = None,
) -> dict[Precision, onnx.ModelProto]:
    """The whole translator in each precision; the same model gives the same bytes.

    Args:
        model: on the CPU in float32, in evaluation mode; it is not changed.
        source_pad: padding mark of the source vocabulary.
        special: marks of the target vocabulary.
        attention: "fused" or "portable", see `transformer.export.attention`.
        precisions: float32; int8, see `transformer.export.quantize`; float16, whose scores are
            float32 all the same.
        shortlist: among which int8 chooses; None for the whole vocabulary.

    Returns:
        Models whose inputs and outputs are:
        - source int64 [B, S], padded; max_length int64 [B]; length_penalty float32 [];
          patience float32 [], infinite for none; beam_size int64 []; num_best int64 [], at most
          beam_size;
        - target int64 [B, N, T]; scores float32 [B, N]; lengths int64 [B, N], as in
          `transformer.search.beam.SearchResult`.
    """
    is_fused = attention == "fused"
    graphs: dict[Precision, onnx.ModelProto] = {}
    # int8 is made from the parts of float32, unless a short-list gives it parts of its own.
    exported: dict[tuple[torch.dtype, bool], Parts] = {}
    for precision in precisions:
        dtype = torch.float16 if precision == "float16" else torch.float32
        listed = shortlist if precision == "int8" else None
        form = dtype, listed is not None
        if form not in exported:
            exported[form] = export_parts(model, dtype, source_pad, special, attention, listed)
        parts = exported[form]
        if precision == "int8":
            parts = quantize_parts(parts, is_fused)
        graphs[precision] = join(parts, marks(special, listed).bos, is_fused)
    return graphs


def marks(special: SpecialIds, shortlist: Shortlist | None) -> SpecialIds:
    """The marks as the search in the graph knows them."""
    return special if shortlist is None else LISTED_MARKS


def quantize_parts(parts: Parts, is_fused: bool) -> Parts:
    """The parts with integer weights, each in the form of product that is quickest there."""
    many: Product = "batched" if is_fused else "standard"
    one: Product = "single" if is_fused else "standard"
    return parts._replace(
        start=quantize(parts.start, many),
        step=quantize(parts.step, many),
        greedy_step=quantize(parts.greedy_step, one),
    )


def export_parts(
    model: Transformer,
    dtype: torch.dtype,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    shortlist: Shortlist | None = None,
) -> Parts:
    """The parts of a model as ONNX graphs, its weights of the type."""
    if dtype != torch.float32:
        model = copy.deepcopy(model).to(dtype)
    form: Attention = ATTENTION[attention](model.config.num_heads)
    mask = form.mask(torch.ones(2, 2, dtype=torch.bool), dtype)
    has_shortlist = shortlist is not None
    faces = describe(model.config, model.output_projection.out_features, mask, dtype, has_shortlist)
    after_start = [*names([*faces.plan, *faces.words, *faces.memory, *faces.state]), "empty_reach"]
    start = export_part(
        Start(model, form, source_pad, special, shortlist),
        [faces.inputs],
        [*after_start, "empty_past", *names([*faces.answers, *faces.rows])],
    )
    special = marks(special, shortlist)
    step = export_part(
        Step(model, form, special),
        [faces.plan, faces.words, faces.memory, faces.state, faces.cache],
        ["next.go_on", *names(renamed("next", faces.state + faces.cache)), LOGITS],
    )
    settle = export_part(
        Settle(special),
        [[ACTIVE], faces.answers, faces.rows, faces.plan, faces.memory, faces.state, faces.cache],
        names(renamed("settled", faces.phase + faces.state + faces.cache)),
        single=(0, 2),
    )
    memory, past = ([alone(value) for value in of] for of in (faces.memory, faces.cache[1:]))
    after_greedy = names(renamed("greedy.next", faces.greedy + past))
    greedy_step = export_part(
        GreedyStep(model, form, special),
        [[Value("max_length", torch.int64, (1,))], faces.words, memory, faces.greedy, past],
        ["greedy.go_on", *after_greedy, "greedy.taken", GREEDY_LOGITS],
        single=(0,),
    )
    greedy_finish = export_part(
        GreedyFinish(),
        [
            [
                Value("tokens", torch.int64, ("past_steps", 1, 1)),
                Value("total", torch.float32, ()),
                Value("penalty", torch.float32, ()),
            ]
        ],
        [f"greedy.answer.{name}" for name in ANSWERS],
    )
    return Parts(
        transpose_weights(start),
        transpose_weights(step),
        settle,
        transpose_weights(greedy_step),
        greedy_finish,
        faces,
    )


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


def with_logits(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with one more output: `logits`, float32, what each step computed.

    With a short-list `words.ids` follows, int64 [n], and n takes the place of V.

    [T, B, W, V] where all rows are done at once, as in a batch of one or of equal sentences; other
    batches change from phase to phase, and fail.
    """
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    (search,) = (node for node in shown.graph.node if node.name == "search")
    greedy, beam = graphs_of(search)
    (steps,) = (node for node in greedy.node if node.name == "greedy_steps")
    # A body's further outputs are gathered over its iterations.
    _show_cast(graphs_of(steps)[0], GREEDY_LOGITS)
    steps.output.append("greedy.all_logits")
    _show(greedy, "greedy.all_logits")
    (phases,) = (node for node in beam.node if node.name == "phases")
    (phase,) = graphs_of(phases)
    (steps,) = (node for node in phase.node if node.name == "steps")
    _show_cast(graphs_of(steps)[0], LOGITS)
    steps.output.append("phase.logits")
    _show(phase, "phase.logits")
    phases.output.append("beam.all_logits")
    beam.node.append(helper.make_node("Squeeze", ["beam.all_logits", "zeros"], ["beam.logits"]))
    _show(beam, "beam.logits")
    search.output.append("logits")
    _show(shown.graph, "logits")
    words = "words.ids"
    if any(words in node.output for node in shown.graph.node):
        shown.graph.output.append(helper.make_tensor_value_info(words, TensorProto.INT64, None))
    return shown


def graphs_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The branches of an `If`, the one that is true first; the body of a `Loop`."""
    held = {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}
    return [held[name] for name in ("then_branch", "else_branch", "body") if name in held]


def _show(graph: onnx.GraphProto, name: str) -> None:
    graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))


def _show_cast(graph: onnx.GraphProto, name: str) -> None:
    # A float16 graph has its logits in float16.
    shown = f"{name}.float32"
    graph.node.append(helper.make_node("Cast", [name], [shown], to=TensorProto.FLOAT))
    _show(graph, shown)


def serialize(model: onnx.ModelProto) -> bytes:
    """The file's bytes, the same for the same graph."""
    return model.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
