"""Attention maps are the weights that the model itself uses."""

import pytest
import torch

from transformer.evaluation.attention_maps import cross_attention

SOURCE = [5, 6, 7, 8, 2]
TARGET = [1, 9, 10, 11]


@pytest.fixture
def make_model(model_maker):
    return lambda norm: model_maker(
        num_heads=4, norm=norm, source_vocab_size=20, target_vocab_size=20
    )


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_weights_of_each_row_sum_to_one(make_model, norm):
    maps = cross_attention(make_model(norm), SOURCE, TARGET)
    assert maps.shape == (2, 4, 5)
    torch.testing.assert_close(maps.sum(-1), torch.ones(2, 4))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_weights_are_those_that_attention_applies(make_model, norm):
    # With values that name their position, each head's context is its own weights.
    model = make_model(norm)
    attention = model.decoder[0].cross_attention
    project, contexts = attention.project_memory, []

    def project_naming_positions(memory, num_heads):
        key, value = project(
            memory, num_heads
        )  # [1, H, S, E] with E = 4 < S = 5: two looks are needed
        names = torch.zeros_like(value)
        names[..., :3, :3] = torch.eye(3)
        return key, names

    attention.project_memory = project_naming_positions
    hook = attention.out_proj.register_forward_pre_hook(lambda _, args: contexts.append(args[0]))
    maps = cross_attention(model, SOURCE, TARGET)
    hook.remove()
    heads = contexts[0].squeeze(0).unflatten(-1, (4, 4))  # [T, H, E]
    torch.testing.assert_close(heads.mean(1)[:, :3], maps[0][:, :3])


def test_the_model_is_left_as_it_was(make_model):
    model = make_model("pre")
    source, target = torch.tensor([SOURCE]), torch.tensor([TARGET])
    before = model(source, None, target)
    cross_attention(model, SOURCE, TARGET)
    torch.testing.assert_close(model(source, None, target), before, rtol=0, atol=0)


def test_an_empty_side_is_refused(make_model):
    with pytest.raises(ValueError, match="not 5 source and 0 target tokens"):
        cross_attention(make_model("pre"), SOURCE, [])
