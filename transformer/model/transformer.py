"""The encoder-decoder Transformer, whole for training and step by step for search.

Shapes: B batch, S source length, T target length, W beams, V target vocabulary, D d_model,
H heads, E = D / H. A source mask is bool [B, S], True at real tokens; None means all are real.
Every row has a real token: an end mark follows even an empty sentence.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from transformer.model.config import ModelConfig
from transformer.model.embedding import Embedding
from transformer.model.layers import DecoderLayer, EncoderLayer, make_norm


class DecoderCache(NamedTuple):
    """What decoding one more token needs of the past: one tensor per decoder layer and kind."""

    self_keys: tuple[Tensor, ...]  # [B * W, H, T, E]
    self_values: tuple[Tensor, ...]  # [B * W, H, T, E]
    cross_keys: tuple[Tensor, ...]  # [B, H, S, E]
    cross_values: tuple[Tensor, ...]  # [B, H, S, E]
    source_mask: Tensor | None  # bool [B, 1, 1, S]


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
        self.source_embedding = Embedding(config, source_vocab_size)
        self.target_embedding = Embedding(config, target_vocab_size)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        # Pre-norm leaves the residual stream itself unnormalised, so each stack ends with a norm.
        is_pre = config.norm == "pre"
        self.encoder_norm = make_norm(config) if is_pre else nn.Identity()
        self.decoder_norm = make_norm(config) if is_pre else nn.Identity()
        is_tied = config.tie_embeddings != "none"
        self.output_projection = nn.Linear(config.d_model, target_vocab_size, bias=not is_tied)
        if is_tied:
            self.output_projection.weight = self.target_embedding.tokens.weight
        if config.tie_embeddings == "all":
            self.source_embedding.tokens = self.target_embedding.tokens
        self._initialize()

    def forward(self, source: Tensor, source_mask: Tensor | None, target: Tensor) -> Tensor:
        """Logits for training.

        Args:
            source: int64 [B, S].
            source_mask: bool [B, S], True at real tokens, or None.
            target: int64 [B, T], the target shifted right: it starts with the start mark.

        Returns:
            [B, T, V]; position t scores the token that follows `target[:, t]`.
        """
        memory = self.encode(source, source_mask)
        return self.project(self.decode(target, memory, source_mask))

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """Source int64 [B, S] and its mask -> memory [B, S, D]."""
        mask = None if source_mask is None else source_mask[:, None, None, :]
        x = self.source_embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)  # type: ignore[no-any-return]

    def decode(self, target: Tensor, memory: Tensor, source_mask: Tensor | None) -> Tensor:
        """Target int64 [B, T], memory [B, S, D] and its mask -> hidden states [B, T, D]."""
        mask = None if source_mask is None else source_mask[:, None, None, :]
        x = self.target_embedding(target)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states [..., D] -> logits [..., V]."""
        return self.output_projection(hidden)  # type: ignore[no-any-return]

    def init_cache(
        self, memory: Tensor, source_mask: Tensor | None, num_beams: int
    ) -> DecoderCache:
        """The cache before the first target token, for `num_beams` beams a sentence."""
        batch = memory.shape[0]
        heads = self.config.num_heads
        empty = memory.new_zeros(batch * num_beams, heads, 0, self.config.d_model // heads)
        pairs = [layer.cross_attention.project_key_value(memory) for layer in self._layers()]
        return DecoderCache(
            self_keys=tuple(empty for _ in self.decoder),
            self_values=tuple(empty for _ in self.decoder),
            cross_keys=tuple(key for key, _ in pairs),
            cross_values=tuple(value for _, value in pairs),
            source_mask=None if source_mask is None else source_mask[:, None, None, :],
        )

    def step(self, tokens: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """One decoding step.

        Args:
            tokens: int64 [B, W], the latest token of each beam.
            cache: of the tokens before.

        Returns:
            Logits of the next token [B, W, V], and the cache with this step added.
        """
        x = self.target_embedding.step(tokens, cache.self_keys[0].shape[2])
        keys, values = [], []
        for index, layer in enumerate(self._layers()):
            x, key, value = layer.step(
                x,
                cache.self_keys[index],
                cache.self_values[index],
                cache.cross_keys[index],
                cache.cross_values[index],
                cache.source_mask,
            )
            keys.append(key)
            values.append(value)
        cache = cache._replace(self_keys=tuple(keys), self_values=tuple(values))
        return self.project(self.decoder_norm(x)), cache

    def num_parameters(self) -> int:
        """How many values are trained; shared ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.decoder))

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
