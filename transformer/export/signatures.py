"""Names, types and shapes of what the parts of the graph hand to each other."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.model.config import ModelConfig

# An example for the exporter: no two axes alike, none of length 1, which it would take as fixed.
EXAMPLE_SIZES = {"whole": 5, "listed": 11, "batch": 3, "active": 2, "beams": 4, "places": 2}
EXAMPLE_SIZES |= {"source_length": 7, "pool": 18, "hypotheses": 12}
EXAMPLE_SIZES |= {"past_steps": 6, "past": 24, "answer_length": 3}
PAIR = ("key", "value")
# Axes that the exporter is told to be equal wherever they stand; it infers how others follow.
SHARED_AXES = ("whole", "listed", "batch", "active", "beams", "places", "source_length")


class Value(NamedTuple):
    """A tensor: a name for an axis that varies, a number for one that is fixed."""

    name: str
    dtype: torch.dtype
    shape: tuple[str | int, ...]


class Interface(NamedTuple):
    """The values between the parts, in the order in which they are passed."""

    inputs: list[Value]
    plan: list[Value]
    words: list[Value]  # of a short-list: `Words`; empty without one
    memory: list[Value]  # of the source: masks, then a cross key and value per layer
    state: list[Value]
    cache: list[Value]  # `reach`, then a key and value per layer
    answers: list[Value]
    rows: list[Value]  # one: which rows of the batch this phase has
    greedy: list[Value]  # the state of a greedy search

    @property
    def constants(self) -> list[Value]:
        """The words, and the part of the plan that stays the same in all phases."""
        return [*(value for value in self.plan if "batch" not in value.shape), *self.words]

    @property
    def phase(self) -> list[Value]:
        """What a phase hands to the next, the steps aside."""
        varying = [value for value in self.plan if "batch" in value.shape]
        return [*self.answers, *self.rows, *varying, *self.memory]


def describe(
    config: ModelConfig,
    target_vocab_size: int,
    mask: Tensor,
    dtype: torch.dtype,
    has_shortlist: bool,
) -> Interface:
    """The interface of a model.

    Args:
        config: its shape.
        target_vocab_size: of its target side.
        mask: an example of the attention's mask, [B, ..., S].
        dtype: of its weights, and so of its keys and values; scores are float32 in any case.
        has_shortlist: whether the search runs on the places of a list.
    """
    whole, real, truth = torch.int64, torch.float32, torch.bool
    heads, width = config.num_heads, config.d_model // config.num_heads
    layers = range(config.num_decoder_layers)
    middle = [1] * (mask.dim() - 2)
    source = ("batch", heads, "source_length", width)
    past = ("batch", heads, "past", width)
    return Interface(
        inputs=[
            Value("source", whole, ("batch", "source_length")),
            Value("max_length", whole, ("batch",)),
            Value("length_penalty", real, ()),
            Value("patience", real, ()),
            Value("beams", whole, ("beams",)),
            Value("places", whole, ("places",)),
        ],
        plan=[
            Value("plan.max_lengths", whole, ("batch",)),
            Value("plan.length_penalty", real, ()),
            Value("plan.final_weights", real, ("batch",)),
            Value("plan.max_ended", real, ()),
            Value("plan.banned", real, ("listed" if has_shortlist else target_vocab_size,)),
            Value("plan.beams", whole, (1, "beams")),
            Value("plan.beam_offsets", whole, ("batch", 1)),
            Value("plan.pool_offsets", whole, ("batch", 1)),
        ],
        words=[
            Value("words.ids", whole, ("listed",)),
            Value("words.weight", torch.int8, (config.d_model, "listed")),
            Value("words.scale", real, ("listed",)),
            Value("words.bias", real, ("listed",)),
        ]
        if has_shortlist
        else [],
        memory=[
            Value("source_mask", mask.dtype, ("batch", *middle, "source_length")),
            *([Value("word_mask", real, ("batch", "listed"))] if has_shortlist else []),
            *(Value(f"cross_{kind}_{i}", dtype, source) for i in layers for kind in PAIR),
        ],
        state=[
            Value("state.num_steps", whole, ()),
            Value("state.tokens", whole, ("batch", "beams")),
            Value("state.parents", whole, ("batch", "beams")),
            Value("state.live_scores", real, ("batch", "beams")),
            Value("state.finished_scores", real, ("batch", "places")),
            Value("state.num_ended", real, ("batch",)),
            Value("state.is_row_done", truth, ("batch",)),
            Value("state.sequences", whole, ("pool", "past_steps")),
        ],
        cache=[
            Value("reach", dtype, ("hypotheses", "past")),
            *(Value(f"past_{kind}_{i}", dtype, past) for i in layers for kind in PAIR),
        ],
        answers=[
            Value("answers.target", whole, ("whole", "places", "answer_length")),
            Value("answers.scores", real, ("whole", "places")),
            Value("answers.lengths", whole, ("whole", "places")),
        ],
        rows=[Value("rows", whole, ("batch",))],
        greedy=[
            Value("greedy.num_steps", whole, ()),
            Value("greedy.token", whole, (1, 1)),
            Value("greedy.total", real, ()),
        ],
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
            index: shared_axis(axis) if axis in SHARED_AXES else torch.export.Dim.AUTO
            for index, axis in enumerate(value.shape)
            if isinstance(axis, str)
        }
        for value in values
    ]


def shared_axis(axis: str) -> Any:
    """An axis that is as long wherever it stands; a list of words has the marks at least."""
    return torch.export.Dim(axis, min=3) if axis == "listed" else torch.export.Dim(axis)


def names(values: Iterable[Value]) -> list[str]:
    """The names alone."""
    return [value.name for value in values]
