"""The three parts of the translator that PyTorch's exporter turns into ONNX.

`Start` runs once, `Step` is the body of the loop, `Finish` runs once after it. They share the
model's own modules and the steps of `transformer.decoding.beam`; only attention is written for
export, and weights are applied to rows [rows, D], so that each product is one `Gemm`.

Shapes: B batch, S source length, W beams, N hypotheses to return, R = B * W, D d_model, H heads,
E = D / H, T tokens so far.
"""

from collections.abc import Iterable, Sequence
from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F

from transformer.decoding import beam
from transformer.decoding.beam import SearchPlan, SearchState, SpecialIds
from transformer.decoding.search import visible
from transformer.export.attention import Attention, split_heads
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.transformer import Transformer


class Start(nn.Module):
    """Encoder, cross keys with values, plan and first state of the search."""

    def __init__(
        self, model: Transformer, attention: Attention, source_pad: int, special: SpecialIds
    ) -> None:
        super().__init__()
        self.embedding = model.source_embedding
        self.layers = model.encoder  # of EncoderLayer
        self.norm = model.encoder_norm
        self.attention = attention
        self.source_pad = source_pad
        self.special = special
        self.vocab_size = model.projection.out_features
        width = model.config.d_model
        for index, layer in enumerate(decoder_layers(model)):
            linear = layer.cross_attention.query_key_value
            self.register_buffer(f"key_value_weight_{index}", linear.weight[width:].detach())
            self.register_buffer(f"key_value_bias_{index}", linear.bias[width:].detach())
        self.num_decoder_layers = len(model.decoder)

    def forward(
        self,
        source: Tensor,
        max_lengths: Tensor,
        length_penalty: Tensor,
        beams: Tensor,
        places: Tensor,
    ) -> tuple[Tensor, ...]:
        """Args as in `beam.init_state`, source int64 [B, S].

        Returns:
            `SearchPlan`, the mask, a cross key and value per layer, `SearchState`, an empty
            self-attention cache, whether the loop is to run (bool []).
        """
        has_source, source_mask = visible(source != self.source_pad)
        mask = self.attention.mask(source_mask)
        batch, length = source.shape
        x = self.embedding(source).flatten(0, 1)  # [B * S, D]
        for layer in cast(Iterable[EncoderLayer], self.layers):
            x = self._encode(layer, x, mask, batch, length)
        x = self.norm(x)
        cross = []
        for index in range(self.num_decoder_layers):
            weight = self.get_buffer(f"key_value_weight_{index}")
            pair = F.linear(x, weight, self.get_buffer(f"key_value_bias_{index}"))
            for part in pair.chunk(2, dim=-1):
                part = part.reshape(batch, length, part.shape[-1])
                cross.append(split_heads(part, self.attention.num_heads))  # [B, H, S, E]
        plan, state = beam.init_state(
            has_source,
            max_lengths,
            length_penalty,
            beams,
            places,
            self.vocab_size,
            self.special,
        )
        # [R, H, 0, E], from tensors at hand so that R needs no name of its own.
        width = x.shape[-1] // self.attention.num_heads
        empty = state.live_scores.reshape(-1, 1, 1, 1)[:, :, :0]
        empty = empty.expand(-1, self.attention.num_heads, 0, width)
        return (*plan, mask, *cross, *state, empty, ~beam.is_done(state))

    def _encode(
        self, layer: EncoderLayer, x: Tensor, mask: Tensor, batch: int, length: int
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            projected = layer.self_attention.query_key_value(x).chunk(3, dim=-1)
            query, key, value = (part.reshape(batch, length, -1) for part in projected)
            context = self.attention.encode(query, key, value, mask)
            return layer.self_attention.output(context.flatten(0, 1))  # type: ignore[no-any-return]

        x = layer.self_attention_residual(x, attend)
        return layer.feed_forward_residual(x, layer.feed_forward)  # type: ignore[no-any-return]


class Step(nn.Module):
    """One decoding step: the cache follows its hypotheses, the decoder runs, the search chooses."""

    def __init__(self, model: Transformer, attention: Attention, special: SpecialIds) -> None:
        super().__init__()
        self.embedding = model.target_embedding
        self.layers = model.decoder  # of DecoderLayer
        self.norm = model.decoder_norm
        self.projection = model.projection
        self.attention = attention
        self.special = special
        width = model.config.d_model
        for index, layer in enumerate(decoder_layers(model)):
            linear = layer.cross_attention.query_key_value
            self.register_buffer(f"query_weight_{index}", linear.weight[:width].detach())
            self.register_buffer(f"query_bias_{index}", linear.bias[:width].detach())

    def forward(
        self,
        state: Sequence[Tensor],
        cache: Sequence[Tensor],
        plan: Sequence[Tensor],
        memory: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        """State, self-attention cache, plan, mask with cross keys and values, as `Start` gave them.

        Returns:
            Whether to go on (bool []), the new state, the new cache, the logits [B, W, V].
        """
        before = SearchState(*state)
        logits, cache = self.logits(before, cache, memory)
        after = beam.step(logits, before, SearchPlan(*plan), self.special)
        return (~beam.is_done(after), *after, *cache, logits)

    def logits(
        self,
        state: SearchState,
        cache: Sequence[Tensor],
        memory: Sequence[Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """The next tokens' logits [B, W, V] and the cache with this step."""
        batch, num_beams = state.tokens.shape
        mask, *cross = memory
        rows = state.parents.reshape(-1)
        x = self.embedding.tokens(state.tokens.reshape(-1)) * self.embedding.scale  # [R, D]
        if self.embedding.positions is not None:
            x = x + self.embedding.positions.index_select(0, state.num_steps.reshape(1))
        longer = []
        for index, layer in enumerate(cast(Iterable[DecoderLayer], self.layers)):
            pasts = [past.index_select(0, rows) for past in cache[2 * index : 2 * index + 2]]
            keys = cross[2 * index : 2 * index + 2]
            x, grown = self._decode(index, layer, x, pasts, keys, mask, batch, num_beams)
            longer += grown
        logits = self.projection(self.norm(x))
        return logits.reshape(batch, num_beams, -1), longer

    def _decode(
        self,
        index: int,
        layer: DecoderLayer,
        x: Tensor,
        pasts: Sequence[Tensor],
        cross: Sequence[Tensor],
        mask: Tensor,
        batch: int,
        num_beams: int,
    ) -> tuple[Tensor, list[Tensor]]:
        grown: list[Tensor] = []

        def attend_to_past(x: Tensor) -> Tensor:
            query, key, value = layer.self_attention.query_key_value(x).chunk(3, dim=-1)
            context, keys, values = self.attention.step(query, key, value, *pasts)
            grown.extend([keys, values])
            return layer.self_attention.output(context)  # type: ignore[no-any-return]

        def attend_to_source(x: Tensor) -> Tensor:
            query = F.linear(
                x,
                self.get_buffer(f"query_weight_{index}"),
                self.get_buffer(f"query_bias_{index}"),
            )
            query = query.reshape(batch, num_beams, -1)
            context = self.attention.cross(query, cross[0], cross[1], mask)
            return layer.cross_attention.output(context.flatten(0, 1))  # type: ignore[no-any-return]

        x = layer.self_attention_residual(x, attend_to_past)
        x = layer.cross_attention_residual(x, attend_to_source)
        return layer.feed_forward_residual(x, layer.feed_forward), grown


class Finish(nn.Module):
    """The best hypotheses of a search that is done."""

    def __init__(self, special: SpecialIds) -> None:
        super().__init__()
        self.special = special

    def forward(self, state: Sequence[Tensor], plan: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """State, plan -> target int64 [B, N, T], scores float32 [B, N], lengths int64 [B, N]."""
        return tuple(beam.finish(SearchState(*state), SearchPlan(*plan), self.special))


def decoder_layers(model: Transformer) -> Iterable[DecoderLayer]:
    """The decoder's layers, by their type."""
    return cast(Iterable[DecoderLayer], model.decoder)
