"""The subgraphs of the translator, as modules that PyTorch's exporter turns into ONNX.

`Begin` runs once, `Step` is the body of the inner loop, `EndRound` ends a round of the search;
`GreedyStep` and `GreedyFinish` take their place for a single sentence and a single beam. They add
nothing to `transformer.search.steps` and the model: they choose what is an input and an output.
Arguments and results are of the types that are declared there; shapes stand with them.
"""

from typing import Any

from torch import Tensor, nn

from transformer.export.shortlist.choose import Shortlist
from transformer.export.shortlist.subgraph import (
    LISTED,
    BatchShortlist,
    FusedShortlist,
    ListTokens,
)
from transformer.export.signatures import of_rows
from transformer.model.transformer import CrossCache, SelfCache, Transformer
from transformer.search import beam, greedy, steps
from transformer.search.beam import SearchConstants, SearchInputs, SearchState
from transformer.search.greedy import GreedyState
from transformer.search.steps import Round, SourceRows
from transformer.text.special_tokens import SpecialIds


class Begin(nn.Module):
    """Encoder, cross keys and values, short-list, and the first round of the search."""

    def __init__(
        self,
        model: Transformer,
        source_pad: int,
        special: SpecialIds,
        shortlist: Shortlist | None,
    ) -> None:
        super().__init__()
        self.model, self.source_pad = model, source_pad
        self.special = special if shortlist is None else LISTED
        self.list_tokens = (
            None if shortlist is None else ListTokens(model.output_projection, shortlist, special)
        )

    def forward(self, source: Tensor, inputs: SearchInputs) -> tuple[Round, BatchShortlist | None]:
        """Source ids, int64 [B, S], and the options."""
        shortlist = token_mask = None
        vocab_size = self.model.output_projection.out_features
        if self.list_tokens is not None:
            shortlist, token_mask = self.list_tokens(source)
            vocab_size = shortlist.ids.shape[0]
        has_source, cross, cache = steps.encode(self.model, source, source != self.source_pad)
        rows = SourceRows(cross, token_mask)
        first = steps.begin(has_source, rows, cache, inputs, vocab_size, self.special)
        return first, shortlist


class Step(nn.Module):
    """One step of beam search."""

    def __init__(self, model: Transformer, special: SpecialIds, is_fused: bool) -> None:
        super().__init__()
        self.model, self.special, self.is_fused = model, special, is_fused

    def forward(
        self,
        constants: SearchConstants,
        shortlist: BatchShortlist | None,
        source: SourceRows,
        state: SearchState,
        cache: SelfCache,
    ) -> tuple[Tensor, SearchState, SelfCache, Tensor]:
        """Whether the round goes on (bool []), state and cache, the logits [b, W, V]."""
        if shortlist is not None and self.is_fused:
            shortlist = FusedShortlist(*shortlist)
        state, cache, logits = steps.beam_step(
            self.model, constants, source, state, cache, self.special, shortlist
        )
        return ~beam.is_round_over(state), state, cache, logits


class EndRound(nn.Module):
    """The end of a round: its answers are collected, and the rows that go on are narrowed to."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(self, active: Tensor, round: Round) -> tuple[Any, ...]:
        """`active`, int64, are the rows that aren't done -> what the next round is handed."""
        after = steps.end_round(active, round, self.special)
        # The constants of the whole search pass round the loop, not through it.
        return (*after[:2], of_rows(after.constants), *after[3:])


class GreedyStep(nn.Module):
    """One step of the greedy search of one sentence."""

    def __init__(self, model: Transformer, special: SpecialIds) -> None:
        super().__init__()
        self.model, self.special = model, special

    def forward(
        self,
        max_length: Tensor,
        shortlist: BatchShortlist | None,
        cross: CrossCache,
        state: GreedyState,
        cache: SelfCache,
    ) -> tuple[Tensor, GreedyState, SelfCache, Tensor, Tensor]:
        """Whether it goes on (bool []), state, cache, the token taken [1, 1], logits [1, 1, V]."""
        state, cache, logits = steps.greedy_step(
            self.model, cross, state, cache, self.special, shortlist
        )
        go_on = greedy.goes_on(state, max_length, self.special)
        # A value of its own: no two outputs of a graph may be one.
        return go_on, state, cache, state.token + 0, logits


class GreedyFinish(nn.Module):
    """The answer of a greedy search."""

    def forward(self, tokens: Tensor, total: Tensor, length_penalty: Tensor) -> tuple[Tensor, ...]:
        """As `greedy.finish`."""
        return tuple(greedy.finish(tokens, total, length_penalty))
