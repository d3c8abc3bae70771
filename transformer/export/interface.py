"""Names, types and shapes of what the parts of the graph hand to each other."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.model.config import ModelConfig

# An example for the exporter: no two axes alike, none of length 1, which it would take as fixed.
EXAMPLE_SIZES = {"batch": 3, "beams": 5, "places": 2, "source_length": 7}
EXAMPLE_SIZES |= {"rows": 15, "pool": 21, "past_length": 4}
PAIR = ("key", "value")
# Axes that the exporter is told to be equal wherever they stand; it infers how others follow.
SHARED_AXES = ("batch", "beams", "places", "source_length")


class Value(NamedTuple):
    """A tensor: a name for an axis that varies, a number for one that is fixed."""

    name: str
    dtype: torch.dtype
    shape: tuple[str | int, ...]


class Interface(NamedTuple):
    """The values between the parts, in the order in which they are passed."""

    inputs: list[Value]
    plan: list[Value]
    memory: list[Value]  # of the source: the mask, then a cross key and value per layer
    state: list[Value]
    cache: list[Value]


def describe(config: ModelConfig, target_vocab_size: int, mask: Tensor) -> Interface:
    """The interface of a model; `mask` is an example of the attention's mask, [B, ..., S]."""
    whole, real, truth = torch.int64, torch.float32, torch.bool
    heads, width = config.num_heads, config.d_model // config.num_heads
    layers = range(config.num_decoder_layers)
    middle = [1] * (mask.dim() - 2)
    source = ("batch", heads, "source_length", width)
    past = ("rows", heads, "past_length", width)
    return Interface(
        inputs=[
            Value("source", whole, ("batch", "source_length")),
            Value("max_length", whole, ("batch",)),
            Value("length_penalty", real, ()),
            Value("beams", whole, ("beams",)),
            Value("places", whole, ("places",)),
        ],
        plan=[
            Value("plan.max_lengths", whole, ("batch",)),
            Value("plan.length_penalty", real, ()),
            Value("plan.final_weights", real, ("batch",)),
            Value("plan.banned", real, (target_vocab_size,)),
            Value("plan.beams", whole, (1, "beams")),
            Value("plan.beam_offsets", whole, ("batch", 1)),
            Value("plan.pool_offsets", whole, ("batch", 1)),
        ],
        memory=[
            Value("source_mask", mask.dtype, ("batch", *middle, "source_length")),
            *(Value(f"cross_{kind}_{i}", real, source) for i in layers for kind in PAIR),
        ],
        state=[
            Value("state.num_steps", whole, ()),
            Value("state.tokens", whole, ("batch", "beams")),
            Value("state.parents", whole, ("batch", "beams")),
            Value("state.live_scores", real, ("batch", "beams")),
            Value("state.finished_scores", real, ("batch", "places")),
            Value("state.is_row_done", truth, ("batch",)),
            Value("state.sequences", whole, ("pool", "past_length")),
        ],
        cache=[Value(f"past_{kind}_{i}", real, past) for i in layers for kind in PAIR],
    )


def examples(values: Iterable[Value]) -> list[Tensor]:
    """A tensor for each value, for the exporter to trace with; what it holds doesn't matter."""
    return [
        torch.zeros(
            [axis if isinstance(axis, int) else EXAMPLE_SIZES[axis] for axis in value.shape],
            dtype=value.dtype,
        )
        for value in values
    ]


def dynamic_axes(values: Iterable[Value]) -> list[dict[int, Any]]:
    """Which axes vary, in the terms of `torch.export`."""
    return [
        {
            index: torch.export.Dim(axis) if axis in SHARED_AXES else torch.export.Dim.AUTO
            for index, axis in enumerate(value.shape)
            if isinstance(axis, str)
        }
        for value in values
    ]


def names(values: Iterable[Value]) -> list[str]:
    """The names alone."""
    return [value.name for value in values]
