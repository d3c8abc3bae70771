"""The encoder-decoder Transformer, whole for training and step by step for search.

Shapes: B batch, S source length, T target length, W beams, V target vocabulary, D d_model,
H heads, E = D / H, P = T * W positions of all beams so far. A source mask is bool [B, S], True at
real tokens; None means all are real. Every row has a real token: an end token follows even an empty
sentence. What is declared of the caches' axes is what the exported graph's signatures are made of.
"""

import copy
from typing import Annotated, NamedTuple, Protocol, Self, cast

import torch
from torch import Tensor, nn

from transformer.model.attention import Attention, TorchAttention
from transformer.model.config import ModelConfig
from transformer.model.embedding import Embedding
from transformer.model.layers import DecoderLayer, EncoderLayer, LayerCross, LayerPast, make_norm
from transformer.model.positions import RotaryPositions, Rotation


class CrossCache(NamedTuple):
    """The encoder's output as the decoder reads it: the same at every step."""

    mask: Annotated[Tensor | None, "mask"]  # the backend's form; None where all tokens are real
    # For each decoder layer.
    keys: Annotated[tuple[Tensor, ...], "weights batch heads source_length head_width"]
    values: Annotated[tuple[Tensor, ...], "weights batch heads source_length head_width"]


class SelfCache(NamedTuple):
    """What the decoder keeps of the target: the keys and values of all beams at all steps.

    It grows at its end alone. Which of it a hypothesis descends from is told by its ancestry
    (`transformer.search.beam`), the one thing that a change of beams moves.
    """

    # For each decoder layer.
    keys: Annotated[tuple[Tensor, ...], "weights batch heads past head_width"]
    values: Annotated[tuple[Tensor, ...], "weights batch heads past head_width"]


class VocabularyShortlist(Protocol):
    """The target tokens among which the next one is looked for, n of them."""

    @property
    def embedding(self) -> Tensor:
        """Their embeddings, scaled, [n, D]."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states [B, W, D] -> logits of the tokens in the list, [B, W, n]."""
        ...


class Transformer(nn.Module):
    """The model of Vaswani et al. 2017, with the variants that `ModelConfig` names."""

    def __init__(self, config: ModelConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__()
        if config.tie_embeddings == "all" and source_vocab_size != target_vocab_size:
            raise ValueError(
                "model.tie_embeddings = 'all' needs one joint vocabulary, but the source has "
                f"{source_vocab_size} tokens and the target {target_vocab_size}; set vocab.joint, "
                "or tie 'output' only"
            )
        self.config = config
        self.attention: Attention = TorchAttention(config.num_heads)
        self.source_embedding = Embedding(config, source_vocab_size)
        self.target_embedding = Embedding(config, target_vocab_size)
        self.rotary = None
        if config.position_encoding == "rotary":
            self.rotary = RotaryPositions(config.max_positions, config.d_model // config.num_heads)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        # Pre-norm leaves the residual stream itself unnormalised, so each stack ends with a norm.
        is_pre = config.norm == "pre"
        self.encoder_norm = make_norm(config) if is_pre else nn.Identity()
        self.decoder_norm = make_norm(config) if is_pre else nn.Identity()
        is_tied = config.tie_embeddings != "none"
        self.output_projection = nn.Linear(
            config.d_model, target_vocab_size, bias=config.output_bias
        )
        if is_tied:
            self.output_projection.weight = self.target_embedding.tokens.weight
        if config.tie_embeddings == "all":
            self.source_embedding.tokens = self.target_embedding.tokens
        self._initialize()

    def forward(self, source: Tensor, source_mask: Tensor | None, target: Tensor) -> Tensor:
        """Logits of all target positions; training computes no more of them than it needs, apart.

        Args:
            source: int64 [B, S].
            source_mask: bool [B, S], True at real tokens, or None.
            target: int64 [B, T], the target shifted right: it starts with the start token.

        Returns:
            [B, T, V]; position t scores the token that follows `target[:, t]`.
        """
        memory = self.encode(source, source_mask)
        return self.project(self.decode(target, memory, source_mask))

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """Source int64 [B, S] and its mask -> memory [B, S, D]."""
        x = self.source_embedding(source)
        mask, rotation = self._mask(source_mask, x), self._rotation(x)
        for layer in self.encoder:
            x = layer(x, self.attention, mask, rotation)
        return self.encoder_norm(x)  # type: ignore[no-any-return]

    def decode(
        self, target: Tensor, memory: Tensor | None, source_mask: Tensor | None = None
    ) -> Tensor:
        """Target int64 [B, T], memory [B, S, D] and its mask -> hidden states [B, T, D].

        Without a memory the decoder runs on its own, as a language model (Radford et al. 2018):
        each layer leaves out what attends to the source.
        """
        x = self.target_embedding(target)
        mask, rotation = self._mask(source_mask, x), self._rotation(x)
        for layer in self._decoder_layers():
            cross = self._cross(layer, memory, mask)
            x, _ = layer(x, self.attention, cross, rotation=rotation)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states [..., D] -> logits [..., V]."""
        return self.output_projection(hidden)  # type: ignore[no-any-return]

    def init_cache(
        self, memory: Tensor, source_mask: Tensor | None
    ) -> tuple[CrossCache, SelfCache]:
        """What decoding needs of the source, and the cache before the first target token."""
        mask = self._mask(source_mask, memory)
        cross = [self._cross(layer, memory, mask) for layer in self._decoder_layers()]
        keys, values = tuple(c.key for c in cross if c), tuple(c.value for c in cross if c)
        none = tuple(key[:, :, :0] for key in keys)
        return CrossCache(mask, keys, values), SelfCache(none, none)

    def step(
        self,
        tokens: Tensor,
        position: Tensor,
        cross: CrossCache,
        cache: SelfCache,
        ancestry: Tensor | None = None,
        shortlist: VocabularyShortlist | None = None,
    ) -> tuple[Tensor, SelfCache]:
        """One decoding step of W beams for each of B sentences.

        The source's keys and values stay at one row a sentence: its beams stand in their query
        axis, so they are neither copied nor reordered.

        Args:
            tokens: int64 [B, W], the latest token of each beam; with a short-list, places in it.
            position: int64 [], how many tokens came before.
            cross: of the source.
            cache: of the tokens before, P = W * position of them.
            ancestry: [B, 1, W, P + W], 0 where a beam's own past and present are, else -inf; None
                for one beam.
            shortlist: None looks for the next token in the whole vocabulary.

        Returns:
            Logits of the next token, [B, W, V] or [B, W, n], and the cache with this step added.
        """
        table = None if shortlist is None else shortlist.embedding
        x = self.target_embedding.step(tokens, position, table)
        rotation = None if self.rotary is None else self.rotary.step(position)
        keys, values = [], []
        for index, layer in enumerate(self._decoder_layers()):
            past = LayerPast(cache.keys[index], cache.values[index], ancestry)
            source = LayerCross(cross.keys[index], cross.values[index], cross.mask)
            x, (key, value) = layer(x, self.attention, source, past, rotation)
            keys.append(key)
            values.append(value)
        x = self.decoder_norm(x)
        logits = self.project(x) if shortlist is None else shortlist.logits(x)
        return logits, SelfCache(tuple(keys), tuple(values))

    def with_attention(self, attention: Attention) -> Self:
        """The same model, weights shared, with another backend."""
        model = copy.copy(self)
        model.attention = attention
        return model

    def num_parameters(self) -> int:
        """How many values are trained; shared ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _decoder_layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.decoder))

    def _mask(self, source_mask: Tensor | None, x: Tensor) -> Tensor | None:
        return None if source_mask is None else self.attention.mask(source_mask, x.dtype)

    def _rotation(self, x: Tensor) -> Rotation | None:
        """Of a whole sequence, [B, L, D]."""
        return None if self.rotary is None else self.rotary(x.shape[1])

    def _cross(
        self, layer: DecoderLayer, memory: Tensor | None, mask: Tensor | None
    ) -> LayerCross | None:
        if memory is None:
            return None
        attention = layer.cross_attention
        return LayerCross(*attention.project_memory(memory, self.config.num_heads), mask)

    @torch.no_grad()
    def _initialize(self) -> None:
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and self.config.initial_weights == "xavier":
                # The fused projection is three square matrices: each gets its own bounds.
                for block in module.weight.chunk(3 if name.endswith("in_proj") else 1):
                    nn.init.xavier_uniform_(block)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        is_small = self.config.scale_embeddings or self.config.tie_embeddings != "none"
        deviation = self.config.d_model**-0.5 if is_small else 1.0
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.tokens.weight, std=deviation)
            if isinstance(embedding.positions, nn.Parameter):
                unit = deviation * embedding.scale
                nn.init.normal_(embedding.positions, std=unit)
