"""Attention maps are the weights that the model itself uses."""

import pytest
import torch

from transformer.decoding.attention_maps import cross_attention
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer

SOURCE = [5, 6, 7, 8, 2]
TARGET = [1, 9, 10, 11]


def make_model(norm: str) -> Transformer:
    torch.manual_seed(0)
    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=16,
        num_heads=4,
        d_ff=32,
        dropout=0.1,
        attention_dropout=0.1,
        norm=norm,
        norm_epsilon=1e-5,
        norm_divisor="root",
        positions="sinusoidal",
        max_positions=32,
        activation="relu",
        scale_embeddings=True,
        tie_embeddings="none",
        embedding_dropout=None,
        initial_weights="xavier",
    )
    return Transformer(config, 20, 20).eval()


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_weights_of_each_row_sum_to_one(norm):
    maps = cross_attention(make_model(norm), SOURCE, TARGET)
    assert maps.shape == (2, 4, 5)
    torch.testing.assert_close(maps.sum(-1), torch.ones(2, 4))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_weights_are_those_that_attention_applies(norm):
    # With values that name their position, each head's context is its own weights.
    model = make_model(norm)
    attention = model.decoder[0].cross_attention
    project, contexts = attention.project_key_value, []

    def project_naming_positions(memory):
        key, value = project(memory)  # [1, H, S, E] with E = 4 < S = 5: two looks are needed
        names = torch.zeros_like(value)
        names[..., :3, :3] = torch.eye(3)
        return key, names

    attention.project_key_value = project_naming_positions
    hook = attention.output.register_forward_pre_hook(lambda _, args: contexts.append(args[0]))
    maps = cross_attention(model, SOURCE, TARGET)
    hook.remove()
    heads = contexts[0].squeeze(0).unflatten(-1, (4, 4))  # [T, H, E]
    torch.testing.assert_close(heads.mean(1)[:, :3], maps[0][:, :3])


def test_the_model_is_left_as_it_was():
    model = make_model("pre")
    source, target = torch.tensor([SOURCE]), torch.tensor([TARGET])
    before = model(source, None, target)
    cross_attention(model, SOURCE, TARGET)
    assert not any(module._forward_pre_hooks for module in model.modules())
    torch.testing.assert_close(model(source, None, target), before, rtol=0, atol=0)


def test_an_empty_side_is_refused():
    with pytest.raises(ValueError, match="not 5 source and 0 target tokens"):
        cross_attention(make_model("pre"), SOURCE, [])
