"""The subgraphs of the translator, as modules that PyTorch's exporter turns into ONNX.

`Begin` runs once. Then beam search or greedy search: a beginning, the step that is the body of the
inner loop, the end of a round; greedy search has an end of its own besides. They add
nothing to `transformer.search.steps` and the model: they choose what is an input and an output.
Arguments and results are of the types that are declared there; shapes stand with them.
"""

from typing import Any

from torch import Tensor, nn

from transformer.export.shortlist.choose import Shortlist
from transformer.export.shortlist.subgraph import BatchShortlist, FusedShortlist, ListTokens
from transformer.export.signatures import of_rows
from transformer.model.transformer import SelfCache, Transformer
from transformer.search import beam, greedy, steps
from transformer.search.beam import SearchConstants, SearchInputs, SearchState
from transformer.search.greedy import GreedyAnswers, GreedyState
from transformer.search.steps import GreedyRound, Round, SourceRows
from transformer.text.special_tokens import SpecialIds


class Begin(nn.Module):
    """Encoder, cross keys and values, short-list: what every search begins with."""

    def __init__(
        self,
        model: Transformer,
        source_pad: int,
        special: SpecialIds,
        shortlist: Shortlist | None,
    ) -> None:
        super().__init__()
        self.model, self.source_pad = model, source_pad
        self.list_tokens = None
        if shortlist is not None:
            embedding, projection = model.target_embedding, model.output_projection
            self.list_tokens = ListTokens(embedding, projection, shortlist, special)

    def forward(
        self, source: Tensor
    ) -> tuple[Tensor, SourceRows, SelfCache, BatchShortlist | None]:
        """Source ids, int64 [B, S] -> which rows have a source, bool [B], and what they have."""
        shortlist = token_mask = None
        if self.list_tokens is not None:
            shortlist, token_mask = self.list_tokens(source)
        has_source, cross, cache = steps.encode(self.model, source, source != self.source_pad)
        return has_source, SourceRows(cross, token_mask), cache, shortlist


class BeginBeam(nn.Module):
    """The first round of beam search, but for what `Begin` made."""

    def __init__(self, vocab_size: int, special: SpecialIds) -> None:
        super().__init__()
        self.vocab_size, self.special = vocab_size, special

    def forward(
        self,
        has_source: Tensor,
        shortlist: BatchShortlist | None,
        source: SourceRows,
        cache: SelfCache,
        inputs: SearchInputs,
    ) -> tuple[Any, ...]:
        """What `Begin` made and the options -> a `Round` without its source and cache."""
        vocab_size = self.vocab_size if shortlist is None else shortlist.ids.shape[0]
        first = steps.begin(has_source, source, cache, inputs, vocab_size, self.special)
        return first.answers, first.batch_indices, first.constants, first.state


class Step(nn.Module):
    """One step of beam search; `is_alone` for a batch of one."""

    def __init__(
        self, model: Transformer, special: SpecialIds, is_fused: bool, is_alone: bool
    ) -> None:
        super().__init__()
        self.model, self.special = model, special
        self.is_fused, self.is_alone = is_fused, is_alone

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
            self.model, constants, source, state, cache, self.special, shortlist, self.is_alone
        )
        is_over = state.is_row_done[0] if self.is_alone else steps.is_round_over(state)
        return ~is_over, state, cache, logits


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


class FinishBeam(nn.Module):
    """The answers of a beam search that had one sentence."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(self, constants: SearchConstants, state: SearchState) -> tuple[Tensor, ...]:
        """As `beam.finish`."""
        return tuple(beam.finish(state, constants, self.special))


class BeginGreedy(nn.Module):
    """The first round of greedy search, but for what `Begin` made."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(
        self, has_source: Tensor, source: SourceRows, cache: SelfCache, max_length: Tensor
    ) -> tuple[Any, ...]:
        """What `Begin` made and an option -> a `GreedyRound` without its source and cache."""
        first = steps.begin_greedy(has_source, source, cache, max_length, self.special)
        return first.answers, first.batch_indices, first.max_lengths, first.state


class GreedyStep(nn.Module):
    """One step of greedy search; `is_alone` for a batch of one."""

    def __init__(
        self, model: Transformer, special: SpecialIds, is_fused: bool, is_alone: bool
    ) -> None:
        super().__init__()
        self.model, self.special = model, special
        self.is_fused, self.is_alone = is_fused, is_alone

    def forward(
        self,
        max_lengths: Tensor,
        shortlist: BatchShortlist | None,
        source: SourceRows,
        state: GreedyState,
        cache: SelfCache,
    ) -> tuple[Tensor, GreedyState, SelfCache, Tensor, Tensor]:
        """Whether the round goes on (bool []), state, cache, the tokens taken [b, 1], logits."""
        # For a single row the product that `BatchShortlist` has is the quickest.
        if shortlist is not None and self.is_fused and not self.is_alone:
            shortlist = FusedShortlist(*shortlist)
        state, cache, logits = steps.greedy_step(
            self.model, max_lengths, source, state, cache, self.special, shortlist, self.is_alone
        )
        is_over = state.is_row_done[0, 0] if self.is_alone else steps.is_round_over(state)
        # A value of its own: no two outputs of a graph may be one.
        return ~is_over, state, cache, state.tokens + 0, logits


class EndGreedyRound(nn.Module):
    """As `EndRound`."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(self, active: Tensor, taken: Tensor, round: GreedyRound) -> GreedyRound:
        """`taken`, int64 [t, b, 1], are the tokens of the round's steps."""
        after = steps.end_greedy_round(active, round, taken, self.special)
        num_steps = after.state.num_steps + 0  # no output may be an input
        return after._replace(state=after.state._replace(num_steps=num_steps))


class FinishGreedy(nn.Module):
    """The answers of a greedy search."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(self, answers: GreedyAnswers, length_penalty: Tensor) -> tuple[Tensor, ...]:
        """As `greedy.finish`."""
        return tuple(greedy.finish(answers, length_penalty, self.special))
