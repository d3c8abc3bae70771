"""Names, types and shapes of what the exported subgraphs hand to each other.

All of it is read off the types of the search and of the model's caches: a field declares its type
and axes as `Annotated[Tensor, "int64 batch beams"]`, and a new field is in every graph that has its
type. A value is named by its path, `state.tokens` or `cache.keys.0`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

from transformer.export.shortlist.subgraph import BatchShortlist
from transformer.model.config import ModelConfig
from transformer.model.transformer import SelfCache
from transformer.search.beam import SearchConstants, SearchInputs, SearchResult, SearchState
from transformer.search.greedy import GreedyState
from transformer.search.steps import GreedyRound, Round

# Inputs of the whole graph that are numbers where the search takes indices 0 1 2 ...
SIZES = {"beams": "beam_size", "slots": "num_best"}
# An example for the exporter: lengths that go together, none of 1, which it would take as fixed.
EXAMPLE_SIZES = {"whole": 5, "vocabulary": 11, "batch": 3, "active": 2, "beams": 4, "slots": 2}
EXAMPLE_SIZES |= {"source_length": 7, "pool": 18, "hypotheses": 12}
EXAMPLE_SIZES |= {"num_steps": 6, "past": 24, "target_length": 3}
# Axes that the exporter is told to be equal wherever they stand; it infers how others follow.
SHARED_AXES = ("whole", "vocabulary", "batch", "active", "beams", "slots", "source_length")
# Axes whose length one iteration of a loop changes.
VARYING_AXES = ("batch", "hypotheses", "pool", "past", "num_steps", "target_length")
DTYPES = {"int64": torch.int64, "int8": torch.int8, "float32": torch.float32, "bool": torch.bool}


class Value(NamedTuple):
    """A tensor: a name for an axis that varies, a number for one that is fixed."""

    name: str
    dtype: torch.dtype
    shape: tuple[str | int, ...]


@dataclass(frozen=True)
class Form:
    """What the declarations leave open, settled for one export."""

    # Of the weights, and so of keys, values and ancestry; scores are float32 in any case.
    dtype: torch.dtype
    num_layers: int
    # Of axes that are fixed: heads, head_width, and vocabulary without a short-list.
    sizes: Mapping[str, int]
    # Of the attention's backend: its type and shape.
    mask: Value
    # Fields that may be None, and are.
    absent: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True)
class Signatures:
    """The values between the subgraphs of one export."""

    form: Form
    has_shortlist: bool

    source = Value("source", torch.int64, ("batch", "source_length"))

    @property
    def inputs(self) -> list[Value]:
        """Of the whole graph: sizes as numbers, where the search takes indices."""
        values = [self.source, *declare(SearchInputs, "", self.form)]
        return [
            Value(SIZES[value.name], value.dtype, ()) if value.name in SIZES else value
            for value in values
        ]

    @property
    def outputs(self) -> list[Value]:
        """Of the whole graph."""
        return [
            Value("target", torch.int64, ("batch", "num_best", "target_length")),
            Value("scores", torch.float32, ("batch", "num_best")),
            Value("lengths", torch.int64, ("batch", "num_best")),
        ]

    @property
    def constants(self) -> list[Value]:
        """Of a search."""
        return declare(SearchConstants, "constants", self.form)

    @property
    def shortlist(self) -> list[Value]:
        """Of a batch; empty without one."""
        return declare(BatchShortlist, "shortlist", self.form) if self.has_shortlist else []

    @property
    def round(self) -> list[Value]:
        """What one round hands to the next: all but the constants of the whole search."""
        same = [value for value in self.constants if "batch" not in value.shape]
        return [value for value in declare(Round, "", self.form) if value not in same]

    @property
    def stepped(self) -> list[Value]:
        """What one step hands to the next."""
        state = declare(SearchState, "state", self.form)
        return state + declare(SelfCache, "cache", self.form)

    @property
    def unstepped(self) -> list[Value]:
        """What no step changes, and has the sizes of what they do."""
        return self.constants + declare(SearchResult, "answers", self.form)

    @property
    def greedy_round(self) -> list[Value]:
        """What one round of greedy search hands to the next."""
        return declare(GreedyRound, "", self.form)

    @property
    def greedy_unstepped(self) -> list[Value]:
        """As `unstepped`."""
        return [value for value in self.greedy_round if value.name == "max_lengths"]

    @property
    def greedy_stepped(self) -> list[Value]:
        """What one greedy step hands to the next."""
        state = declare(GreedyState, "state", self.form)
        return state + declare(SelfCache, "cache", self.form)


def settle(
    config: ModelConfig,
    target_vocab_size: int,
    mask: Tensor,
    dtype: torch.dtype,
    has_shortlist: bool,
) -> Signatures:
    """The signatures of an export.

    Args:
        config: the model's shape.
        target_vocab_size: of its target side.
        mask: an example of the attention's mask, [B, ..., S].
        dtype: of its weights.
        has_shortlist: whether the search runs on places in a list.
    """
    sizes = {"heads": config.num_heads, "head_width": config.d_model // config.num_heads}
    sizes |= {"d_model": config.d_model}
    middle = [1] * (mask.dim() - 2)
    form = Form(
        dtype=dtype,
        num_layers=config.num_decoder_layers,
        sizes=sizes if has_shortlist else sizes | {"vocabulary": target_vocab_size},
        mask=Value("", mask.dtype, ("batch", *middle, "source_length")),
        absent=frozenset() if has_shortlist else frozenset({"token_mask"}),
    )
    return Signatures(form, has_shortlist)


def of_rows(constants: SearchConstants) -> list[Tensor]:
    """Those of a search's constants that have a row for each sentence of the round."""
    hints = get_type_hints(SearchConstants, include_extras=True)
    return [
        value
        for value, hint in zip(constants, hints.values(), strict=True)
        if "batch" in get_args(hint)[1].split()
    ]


def declare(declared: Any, name: str, form: Form) -> list[Value]:
    """The tensors of a type, in the order in which its fields stand.

    Args:
        declared: an annotated tensor or tuple of tensors (one a layer), or a named tuple of such.
        name: of the value; it begins the names of its parts.
        form: what the declarations leave open.
    """
    if get_origin(declared) is Annotated:
        kind, axes = get_args(declared)
        if name.rpartition(".")[2] in form.absent:
            return []
        value = form.mask._replace(name=name) if axes == "mask" else _read(axes, name, form)
        if get_origin(kind) is tuple:
            return [value._replace(name=f"{name}.{layer}") for layer in range(form.num_layers)]
        return [value]
    hints = get_type_hints(declared, include_extras=True)
    return [
        value
        for part, hint in hints.items()
        for value in declare(hint, f"{name}.{part}" if name else part, form)
    ]


def fill(declared: Any, values: Iterable[Any], form: Form) -> Any:
    """A declared type with one thing for each of its tensors: those of `declare`, in their order.

    None for None.
    """
    rest = iter(values)

    def make(declared: Any, name: str) -> Any:
        if get_origin(declared) is not Annotated:
            hints = get_type_hints(declared, include_extras=True)
            return declared(*(make(hint, part) for part, hint in hints.items()))
        if name in form.absent:
            return None
        is_per_layer = get_origin(get_args(declared)[0]) is tuple
        return tuple(islice(rest, form.num_layers)) if is_per_layer else next(rest)

    return None if declared is None else make(declared, "")


def example(value: Value) -> Tensor:
    """A tensor for the exporter to trace with; what it holds doesn't matter."""
    sizes = [axis if isinstance(axis, int) else EXAMPLE_SIZES[axis] for axis in value.shape]
    return torch.zeros(sizes, dtype=value.dtype)


def dynamic_axes(value: Value) -> dict[int, Any]:
    """Which axes vary, in the terms of `torch.export`."""
    return {
        index: _shared_axis(axis) if axis in SHARED_AXES else torch.export.Dim.AUTO
        for index, axis in enumerate(value.shape)
        if isinstance(axis, str)
    }


def _shared_axis(axis: str) -> Any:
    # One that is as long wherever it stands; a short-list has the special tokens at least.
    return torch.export.Dim(axis, min=4) if axis == "vocabulary" else torch.export.Dim(axis)


def _read(axes: str, name: str, form: Form) -> Value:
    dtype, *shape = axes.split()
    return Value(
        name,
        form.dtype if dtype == "weights" else DTYPES[dtype],
        tuple(int(axis) if axis.isdigit() else form.sizes.get(axis, axis) for axis in shape),
    )
