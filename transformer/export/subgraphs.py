"""The parts of the translator that PyTorch's exporter turns into ONNX.

`Start` runs once, `Step` is the body of the inner loop, `Settle` ends a phase of the search;
`GreedyStep` and `GreedyFinish` take their place for a single sentence and a single beam. They
share the model's own modules and the functions of `transformer.search.beam`; only attention is
written for export.

The cache of a decoding step holds the keys and values of all beams at all steps, and grows at its
end alone: which of them a hypothesis descends from is told by `reach`, the one thing that a change
of beams moves.

Shapes: B batch, b rows of the present phase, S source length, W beams, N hypotheses to return,
D d_model, H heads, E = D / H, P = T * W positions after T steps.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.export.attention import Attention, FusedAttention, split_heads
from transformer.export.shortlist.choose import Shortlist
from transformer.export.shortlist.subgraph import LISTED_MARKS, Listing, Words, listed_logits
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.transformer import Transformer
from transformer.search import beam, greedy
from transformer.search.beam import (
    SearchPlan,
    SearchResult,
    SearchState,
    SpecialIds,
    look_up,
)
from transformer.search.decode import visible
from transformer.search.greedy import GreedyState


class Start(nn.Module):
    """Encoder, cross keys with values, plan and first state of the search."""

    def __init__(
        self,
        model: Transformer,
        attention: Attention,
        source_pad: int,
        special: SpecialIds,
        shortlist: Shortlist | None,
    ) -> None:
        super().__init__()
        self.listing = (
            None if shortlist is None else Listing(model.output_projection, shortlist, special)
        )
        self.embedding = model.source_embedding
        self.layers = model.encoder  # of EncoderLayer
        self.norm = model.encoder_norm
        self.attention = attention
        self.source_pad = source_pad
        self.special = special
        self.vocab_size = model.output_projection.out_features
        width = model.config.d_model
        for index, layer in enumerate(decoder_layers(model)):
            linear = layer.cross_attention.in_proj
            self.register_buffer(f"key_value_weight_{index}", linear.weight[width:].detach())
            self.register_buffer(f"key_value_bias_{index}", linear.bias[width:].detach())
        self.num_decoder_layers = len(model.decoder)

    def forward(
        self,
        source: Tensor,
        max_lengths: Tensor,
        length_penalty: Tensor,
        patience: Tensor,
        beams: Tensor,
        places: Tensor,
    ) -> tuple[Tensor, ...]:
        """Args as in `beam.init_state`, source int64 [B, S].

        Returns:
            `SearchPlan`, `Words` if there is a short-list, the mask (then that of the words too),
            a cross key and value per layer, `SearchState`, the empty `reach` and cache,
            `SearchResult` without answers, the rows int64 [B].
        """
        vocab_size, special = self.vocab_size, self.special
        words: tuple[Tensor, ...] = ()
        limits: tuple[Tensor, ...] = ()
        if self.listing is not None:
            words, *limits = self.listing(source)
            vocab_size, special = words[0].shape[0], LISTED_MARKS
        has_source, source_mask = visible(source != self.source_pad)
        x = self.embedding(source)  # [B, S, D]
        mask = self.attention.mask(source_mask, x.dtype)
        for layer in cast(Iterable[EncoderLayer], self.layers):
            x = self._encode(layer, x, mask)
        x = self.norm(x)
        cross: list[Tensor] = []  # of [B, H, S, E]
        for index in range(self.num_decoder_layers):
            weight = self.get_buffer(f"key_value_weight_{index}")
            pair = F.linear(x, weight, self.get_buffer(f"key_value_bias_{index}"))
            cross += [split_heads(part, self.attention.num_heads) for part in pair.chunk(2, -1)]
        plan, state = beam.init_state(
            has_source,
            max_lengths,
            length_penalty,
            patience,
            beams,
            places,
            vocab_size,
            special,
        )
        reach = state.live_scores.reshape(-1, 1)[:, :0].to(x.dtype)
        answers = beam.finish(state, plan, special)
        rows = torch.ones_like(max_lengths).cumsum(0) - 1
        memory = (mask, *limits, *cross)
        return (*plan, *words, *memory, *state, reach, cross[0][:, :, :0], *answers, rows)

    def _encode(self, layer: EncoderLayer, x: Tensor, mask: Tensor) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            query, key, value = layer.self_attention.in_proj(x).chunk(3, dim=-1)
            context = self.attention.encode(query, key, value, mask)
            return layer.self_attention.out_proj(context)  # type: ignore[no-any-return]

        x = layer.self_attention_residual(x, attend)
        return layer.feed_forward_residual(x, layer.feed_forward)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """The next tokens' logits from the latest ones and a cache.

    With a short-list, tokens are places in it, `special` are its marks, and V is its length n.
    """

    def __init__(self, model: Transformer, attention: Attention, special: SpecialIds) -> None:
        super().__init__()
        self.is_fused = isinstance(attention, FusedAttention)
        self.embedding = model.target_embedding
        self.layers = model.decoder  # of DecoderLayer
        self.norm = model.decoder_norm
        self.output_projection = model.output_projection
        self.attention = attention
        self.special = special
        width = model.config.d_model
        for index, layer in enumerate(decoder_layers(model)):
            linear = layer.cross_attention.in_proj
            self.register_buffer(f"query_weight_{index}", linear.weight[:width].detach())
            self.register_buffer(f"query_bias_{index}", linear.bias[:width].detach())

    def logits(
        self,
        tokens: Tensor,
        position: Tensor,
        words: Sequence[Tensor],
        memory: Sequence[Tensor],
        cache: Sequence[Tensor],
        reach: Tensor | None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Tokens int64 [b, W], all at one position int64 [] -> [b, W, V], the longer cache."""
        mask, *cross = memory
        if words:
            limits, *cross = cross
            tokens = look_up(words[0], tokens)
        x = self.embedding.tokens(tokens) * self.embedding.scale  # [b, W, D]
        if self.embedding.positions is not None:
            x = x + self.embedding.positions.index_select(0, position.reshape(1))
        longer = []
        for index, layer in enumerate(cast(Iterable[DecoderLayer], self.layers)):
            pair = slice(2 * index, 2 * index + 2)
            x, grown = self._decode(index, layer, x, cache[pair], cross[pair], mask, reach)
            longer += grown
        x = self.norm(x)
        if not words:
            return self.output_projection(x), longer
        # The words of one sentence are open to it, all of them; and one row is quicker in float32.
        is_alone = reach is None
        logits = listed_logits(x, Words(*words), self.is_fused and not is_alone)
        return logits if is_alone else logits + limits.unsqueeze(1), longer

    def _decode(
        self,
        index: int,
        layer: DecoderLayer,
        x: Tensor,
        past: Sequence[Tensor],
        cross: Sequence[Tensor],
        mask: Tensor,
        reach: Tensor | None,
    ) -> tuple[Tensor, list[Tensor]]:
        grown: list[Tensor] = []

        def attend_to_past(x: Tensor) -> Tensor:
            query, key, value = layer.self_attention.in_proj(x).chunk(3, dim=-1)
            context, keys, values = self.attention.step(query, key, value, past[0], past[1], reach)
            grown.extend([keys, values])
            return layer.self_attention.out_proj(context)  # type: ignore[no-any-return]

        def attend_to_source(x: Tensor) -> Tensor:
            query = F.linear(
                x,
                self.get_buffer(f"query_weight_{index}"),
                self.get_buffer(f"query_bias_{index}"),
            )
            context = self.attention.cross(query, cross[0], cross[1], mask)
            return layer.cross_attention.out_proj(context)  # type: ignore[no-any-return]

        x = layer.self_attention_residual(x, attend_to_past)
        x = layer.cross_attention_residual(x, attend_to_source)
        return layer.feed_forward_residual(x, layer.feed_forward), grown


class Step(Decoder):
    """One step: the decoder runs, the search chooses, `reach` follows the hypotheses."""

    def forward(
        self,
        plan: Sequence[Tensor],
        words: Sequence[Tensor],
        memory: Sequence[Tensor],
        state: Sequence[Tensor],
        cache: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        """Plan, words, masks with cross keys and values, state, `reach` with the cache.

        Returns:
            Whether the phase goes on (bool []), the new state, `reach`, cache, the logits
            [b, W, V].
        """
        at, before = SearchPlan(*plan), SearchState(*state)
        batch, num_beams = at.max_lengths.shape[0], at.beams.shape[1]
        own = torch.where(at.beams == at.beams.transpose(0, 1), 0.0, -torch.inf)  # [W, W]
        own = own.expand(batch, -1, -1).flatten(0, 1).to(cache[0].dtype)  # [b * W, W]
        reach = torch.cat([cache[0], own], dim=1)  # [b * W, P + W]
        by_beam = reach.reshape(batch, 1, num_beams, -1)
        logits, grown = self.logits(
            before.tokens, before.num_steps, words, memory, cache[1:], by_beam
        )
        after = beam.step(logits, before, at, self.special)
        hypotheses = (after.parents + at.beam_offsets).reshape(-1)
        reach = reach.index_select(0, hypotheses)
        return (~beam.is_phase_over(after), *after, reach, *grown, logits)


class GreedyStep(Decoder):
    """One step of the greedy search of one sentence."""

    def forward(
        self,
        max_length: Tensor,
        words: Sequence[Tensor],
        memory: Sequence[Tensor],
        state: Sequence[Tensor],
        cache: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        """`max_length` int64 [1], words and memory as above, `GreedyState`, the cache.

        Returns:
            Whether it goes on (bool []), the new state, the new cache, the token that was taken
            int64 [1, 1], the logits [1, 1, V].
        """
        before = GreedyState(*state)
        logits, cache = self.logits(before.token, before.num_steps, words, memory, cache, None)
        after = greedy.step(logits, before, self.special)
        go_on = greedy.goes_on(after, max_length, self.special)
        return (go_on, *after, *cache, after.token + 0, logits)


class GreedyFinish(nn.Module):
    """The answer of a greedy search."""

    def forward(self, tokens: Tensor, total: Tensor, penalty: Tensor) -> tuple[Tensor, ...]:
        """As `greedy.finish`."""
        return tuple(greedy.finish(tokens, total, penalty))


class Settle(nn.Module):
    """The end of a phase: its answers are collected, and the rows that go on are narrowed to."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(
        self,
        active: Tensor,
        answers: Sequence[Tensor],
        rows: Tensor,
        plan: Sequence[Tensor],
        memory: Sequence[Tensor],
        state: Sequence[Tensor],
        cache: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        """`active`, int64, are the places in the phase that aren't done; the others as above.

        Returns:
            `SearchResult` of the whole batch, then the rows of the next phase, what varies of
            their plan, their memory, state, `reach` and cache.
        """
        at, now = SearchPlan(*plan), SearchState(*state)
        found = beam.finish(now, at, self.special)
        collected = beam.collect(SearchResult(*answers), rows, found, self.special)
        at, now = beam.narrow(at, now, active)
        varying = (at.max_lengths, at.final_weights, at.beam_offsets, at.pool_offsets)
        rows, *kept = [value.index_select(0, active) for value in (rows, *memory)]
        hypotheses = (active.unsqueeze(1) * at.beams.shape[1] + at.beams).flatten()
        reach = cache[0].index_select(0, hypotheses)
        pasts = [value.index_select(0, active) for value in cache[1:]]
        return (*collected, rows, *varying, *kept, *now, reach, *pasts)


def decoder_layers(model: Transformer) -> Iterable[DecoderLayer]:
    """The decoder's layers, by their type."""
    return cast(Iterable[DecoderLayer], model.decoder)
