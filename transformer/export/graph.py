"""A model as one ONNX graph that translates.

    source, max_length, length_penalty, patience, beam_size, num_best -> target, scores, lengths

PyTorch exports the modules of `transformer.export.subgraphs` one by one, `assemble` makes one graph
of them. Everything that a caller may choose is an input: the size of the beam and the number of
answers only size tensors. But one beam takes loops of its own, and so does one sentence, in the
same file and with the same weights, in which nothing is left of what they don't need.
"""

import copy
import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import onnx
import torch
from torch import nn

from transformer.export.assemble import MADE, OUTPUTS, Subgraphs, assemble
from transformer.export.attention import FusedAttention, PortableAttention, scale_queries
from transformer.export.config import FORMS, Precision
from transformer.export.exporter import export_module
from transformer.export.packed_attention import pack_self_attention
from transformer.export.quantization import Product, quantize, transpose_weights
from transformer.export.shortlist.choose import Shortlist
from transformer.export.shortlist.subgraph import LISTED, BatchShortlist
from transformer.export.signatures import (
    SIZES,
    Signatures,
    Value,
    declare,
    dynamic_axes,
    example,
    fill,
    settle,
)
from transformer.export.subgraphs import (
    Begin,
    BeginBeam,
    BeginGreedy,
    EndGreedyRound,
    EndRound,
    FinishBeam,
    FinishGreedy,
    GreedyStep,
    Step,
)
from transformer.model.transformer import SelfCache, Transformer
from transformer.search.beam import SearchConstants, SearchInputs, SearchState
from transformer.search.greedy import GreedyAnswers, GreedyState
from transformer.search.steps import GreedyRound, Round, SourceRows
from transformer.text.special_tokens import SpecialIds

INPUTS = ["source", *(SIZES.get(name, name) for name in SearchInputs._fields)]
ATTENTION: dict[str, type[FusedAttention] | type[PortableAttention]] = {
    "fused": FusedAttention,
    "portable": PortableAttention,
}


class Graph(NamedTuple):
    """The translator in one precision."""

    model: onnx.ModelProto
    # The same with the logits of each step as a further output, for verification.
    with_logits: onnx.ModelProto


def build_graphs(
    model: Transformer,
    *,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    precisions: Sequence[Precision],
    shortlist: Shortlist | None = None,
    in_parallel: bool = False,
) -> Iterator[tuple[Precision, Graph]]:
    """The whole translator in each precision, one by one; the same model gives the same bytes.

    Args:
        model: on the CPU in float32, in evaluation mode; it is not changed.
        source_pad: padding id of the source vocabulary.
        special: of the target vocabulary.
        attention: "fused" or "portable", see `transformer.export.attention`.
        precisions: float32; int8, see `transformer.export.quantization`; float16, whose scores are
            float32 all the same.
        shortlist: among which int8 chooses; None for the whole vocabulary.
        in_parallel: what the first graph has no use for is exported by another process, while the
            caller works with the first; that process holds a copy of the model.

    Yields:
        Each precision with models whose inputs and outputs are:
        - source int64 [B, S], padded; max_length int64 [B]; length_penalty float32 [];
          patience float32 [], infinite for none; beam_size int64 []; num_best int64 [], at most
          beam_size;
        - target int64 [B, N, T]; scores float32 [B, N]; lengths int64 [B, N], as in
          `transformer.search.beam.SearchResult`.
    """
    is_fused = attention == "fused"
    kinds = {}
    for precision in precisions:
        used = shortlist if precision == "int8" else None
        kinds[precision] = FORMS[precision].dtype, used is not None
    # int8 is made from the subgraphs of float32, unless a short-list gives it some of its own.
    exports: dict[tuple[str, bool], Callable[[], Subgraphs]] = {}
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for dtype, has_shortlist in kinds.values():
            if (dtype, has_shortlist) in exports:
                continue
            used = shortlist if has_shortlist else None
            arguments = model, getattr(torch, dtype), source_pad, special, attention, used
            if exports and in_parallel:
                # Pickled here: torch would hand the weights over as shared memory.
                waiting = pool.submit(_export_pickled, pickle.dumps(arguments))
                exports[dtype, has_shortlist] = waiting.result
            else:
                exports[dtype, has_shortlist] = functools.cache(
                    functools.partial(export_subgraphs, *arguments)
                )
        for precision, kind in kinds.items():
            parts = exports[kind]()
            if precision == "int8":
                parts = quantize_subgraphs(parts, is_fused)
            yield (
                precision,
                Graph(assemble(parts, is_fused), assemble(parts, is_fused, with_logits=True)),
            )


def _export_pickled(arguments: bytes) -> Subgraphs:
    return export_subgraphs(*pickle.loads(arguments))


def quantize_subgraphs(parts: Subgraphs, is_fused: bool) -> Subgraphs:
    """The subgraphs with integer weights, each in the form of product that is quickest there."""
    many: Product = "batched" if is_fused else "standard"
    one: Product = "single" if is_fused else "standard"
    head_width = int(parts.signatures.form.sizes["head_width"])

    def pack(step: onnx.GraphProto) -> onnx.GraphProto:
        return pack_self_attention(step, head_width) if is_fused else step

    return parts._replace(
        begin=quantize(parts.begin, many),
        step=quantize(parts.step, many),
        single_beam_step=quantize(parts.single_beam_step, many),
        greedy_step=quantize(pack(parts.greedy_step), many),
        single_step=quantize(pack(parts.single_step), one),
    )


def export_subgraphs(
    model: Transformer,
    dtype: torch.dtype,
    source_pad: int,
    special: SpecialIds,
    attention: str,
    shortlist: Shortlist | None = None,
) -> Subgraphs:
    """The subgraphs of a model, its weights of the type."""
    model = copy.deepcopy(model)
    scale_queries(model, model.config.num_heads)
    model = model.to(dtype)
    backend = ATTENTION[attention](model.config.num_heads)
    model = model.with_attention(backend)
    mask = backend.mask(torch.ones(2, 2, dtype=torch.bool), dtype)
    signatures = settle(
        model.config, model.output_projection.out_features, mask, dtype, shortlist is not None
    )
    listed = [(BatchShortlist if shortlist else None, "shortlist")]
    search = special if shortlist is None else LISTED
    is_fused = attention == "fused"
    has_source = Value("has_source", torch.bool, ("batch",))
    rows, cache = (SourceRows, "source"), (SelfCache, "cache")
    after_begin = [*declare(SourceRows, "source", signatures.form)]
    after_begin += declare(SelfCache, "cache", signatures.form)

    def made(values: list[Value]) -> list[str]:
        """Names of what the beginning of a search adds to that."""
        return [value.name for value in values if value not in after_begin]

    begin = export_subgraph(
        Begin(model, source_pad, special, shortlist),
        [signatures.source],
        signatures,
        ["has_source", *names(after_begin), *names(signatures.shortlist)],
    )
    begin_beam = export_subgraph(
        BeginBeam(model.output_projection.out_features, search),
        [has_source, *listed, rows, cache, (SearchInputs, "")],
        signatures,
        made(declare(Round, "", signatures.form)),
    )
    constants, state = (SearchConstants, "constants"), (SearchState, "state")
    step, single_beam_step = (
        export_subgraph(
            Step(model, search, is_fused, is_alone),
            [constants, *listed, rows, state, cache],
            signatures,
            ["go_on", *names(signatures.stepped), "logits"],
        )
        for is_alone in (False, True)
    )
    finish_beam = export_subgraph(FinishBeam(search), [constants, state], signatures, OUTPUTS)
    end_round = export_subgraph(
        EndRound(search),
        [Value("active", torch.int64, ("active",)), (Round, "")],
        signatures,
        names(signatures.round),
    )
    begin_greedy = export_subgraph(
        BeginGreedy(search),
        [has_source, rows, cache, Value("max_length", torch.int64, ("batch",))],
        signatures,
        made(signatures.greedy_round),
    )
    greedy_step, single_step = (
        export_subgraph(
            GreedyStep(model, search, is_fused, is_alone),
            [
                Value("max_lengths", torch.int64, ("batch", 1)),
                *listed,
                rows,
                (GreedyState, "state"),
                cache,
            ],
            signatures,
            ["go_on", *names(signatures.greedy_stepped), "taken", "logits"],
        )
        for is_alone in (False, True)
    )
    end_greedy_round = export_subgraph(
        EndGreedyRound(search),
        [
            Value("active", torch.int64, ("active",)),
            Value("taken", torch.int64, ("num_steps", "batch", 1)),
            (GreedyRound, ""),
        ],
        signatures,
        names(signatures.greedy_round),
    )
    finish_greedy = export_subgraph(
        FinishGreedy(search),
        [(GreedyAnswers, "answers"), Value("length_penalty", torch.float32, ())],
        signatures,
        OUTPUTS,
    )
    return Subgraphs(
        begin=transpose_weights(begin),
        begin_beam=begin_beam,
        step=transpose_weights(step),
        single_beam_step=transpose_weights(single_beam_step),
        finish_beam=finish_beam,
        end_round=end_round,
        begin_greedy=begin_greedy,
        greedy_step=transpose_weights(greedy_step),
        single_step=transpose_weights(single_step),
        end_greedy_round=end_greedy_round,
        finish_greedy=finish_greedy,
        signatures=signatures,
    )


def export_subgraph(
    module: nn.Module,
    arguments: Sequence[Value | tuple[Any, str]],
    signatures: Signatures,
    outputs: list[str],
) -> onnx.GraphProto:
    """One subgraph.

    Args:
        module: a module of `transformer.export.subgraphs`.
        arguments: of its forward: a value, or a declared type (None for none) with its name.
        signatures: of this export.
        outputs: names of what it returns, in order.
    """
    inputs: list[Value] = []
    examples, axes = [], []
    for argument in arguments:
        if isinstance(argument, Value):
            inputs.append(argument)
            examples.append(example(argument))
            axes.append(dynamic_axes(argument))
            continue
        declared, name = argument
        values = [] if declared is None else declare(declared, name, signatures.form)
        inputs += values
        examples.append(fill(declared, map(example, values), signatures.form))
        axes.append(fill(declared, map(dynamic_axes, values), signatures.form))
    made = [f"{MADE}{name}" for name in outputs]
    return export_module(module.eval(), examples, axes, names(inputs), made)


def names(values: Sequence[Value]) -> list[str]:
    """The names alone."""
    return [value.name for value in values]


def serialize(model: onnx.ModelProto) -> bytes:
    """The file's bytes, the same for the same graph."""
    return model.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
