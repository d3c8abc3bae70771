"""The `model` section: the shape of the Transformer."""

from typing import Literal, Self

from pydantic import Field, model_validator

from transformer.config import Section


class ModelConfig(Section):
    """Architecture, in the terms of Vaswani et al. 2017 (arXiv:1706.03762)."""

    num_encoder_layers: int = Field(ge=1, le=1000)
    num_decoder_layers: int = Field(ge=1, le=1000)
    d_model: int = Field(ge=1)
    num_heads: int = Field(ge=1)
    d_ff: int = Field(ge=1)
    # On every sublayer's output before it is added to the residual.
    dropout: float = Field(ge=0, lt=1)
    # On embeddings with their positions (2017, section 5.4); None: as `dropout`.
    embedding_dropout: float | None = Field(ge=0, lt=1)
    # On the attention weights.
    attention_dropout: float = Field(ge=0, lt=1)
    # pre: inside each residual branch, with a final norm per stack. post: after each addition.
    norm: Literal["pre", "post", "none"]
    norm_epsilon: float = Field(gt=0)
    # What a layer norm divides by. standard: the root of the biased variance + epsilon (Ba et al.
    # 2016, arXiv:1607.06450). unbiased: the standard deviation by D - 1, + epsilon outside.
    layer_norm_variant: Literal["standard", "unbiased"]
    # sinusoidal, learned: added to embeddings. sinusoidal_halves: all sines before all cosines, as
    # Marian has them, where they take turns else (2017, section 3.5). rotary: queries and keys of
    # self-attention turn with their place (Su et al. 2021, arXiv:2104.09864).
    position_encoding: Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary", "none"]
    # The longest sequence, in tokens with its end token, that either side can hold.
    max_positions: int = Field(ge=1, le=10**6)
    # swish: x * sigmoid(x) (Ramachandran et al. 2017, arXiv:1710.05941), also called SiLU.
    activation: Literal["relu", "gelu", "swish"]
    # Multiply token embeddings by sqrt(d_model) (2017, section 3.4).
    scale_embeddings: bool
    # output: target embedding = output projection. all: source embedding too (joint vocabulary).
    tie_embeddings: Literal["none", "output", "all"]
    # Add a bias to the logits, one for each token of the target vocabulary.
    output_bias: bool
    # Of linear layers. xavier: uniform within sqrt(6 / (inputs + outputs)), no biases (Glorot and
    # Bengio 2010). torch: what torch.nn.Linear begins with, uniform within 1 / sqrt(inputs),
    # biases too.
    initial_weights: Literal["xavier", "torch"]

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.d_model % self.num_heads:
            raise ValueError(
                f"num_heads = {self.num_heads} must divide d_model = {self.d_model}; "
                "change one of them"
            )
        if self.position_encoding.startswith("sinusoidal") and self.d_model % 2:
            raise ValueError(
                f"d_model = {self.d_model} must be even for position_encoding = "
                f"{self.position_encoding!r}; sines and cosines come in pairs"
            )
        if self.position_encoding == "rotary" and self.d_model // self.num_heads % 2:
            raise ValueError(
                f"d_model / num_heads = {self.d_model // self.num_heads} must be even for "
                "position_encoding = 'rotary', which turns pairs of a head's features"
            )
        if self.layer_norm_variant == "unbiased" and self.d_model == 1:
            raise ValueError(
                "d_model = 1 has no unbiased deviation, which layer_norm_variant = 'unbiased' "
                "divides by; set d_model to 2 or more, or layer_norm_variant: standard"
            )
        return self
