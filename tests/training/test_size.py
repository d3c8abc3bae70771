"""The size of a model is told before it is made."""

import itertools

import pytest
import torch

from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.training.size import check_memory, count_parameters
from transformer.training.trainer import Trainer


def config_of(model_maker, **changes) -> ModelConfig:
    return model_maker().config.model_copy(update=changes)


def test_parameters_are_counted_as_the_model_has_them(model_maker):
    for norm, positions, tied, has_bias in itertools.product(
        ("pre", "post", "none"),
        ("learned", "sinusoidal", "rotary", "none"),
        ("none", "output", "all"),
        (False, True),
    ):
        changes = {"position_encoding": positions, "tie_embeddings": tied, "output_bias": has_bias}
        config = config_of(model_maker, norm=norm, **changes)
        sizes = (30, 30) if tied == "all" else (30, 50)
        with torch.device("meta"):
            model = Transformer(config, *sizes)
        assert count_parameters(config, *sizes) == model.num_parameters()


def test_a_model_beyond_memory_is_refused_with_its_size(model_maker):
    config = config_of(model_maker, d_ff=10**6, d_model=1000)
    needed = 16 * count_parameters(config, 100, 100) + 2 * 4 * 1000 * config.max_positions
    check_memory(config, 100, 100, needed)
    check_memory(config, 100, 100, None)
    with pytest.raises(ValueError, match=r"takes 96\.\d GB to train, and 96\.\d"):
        check_memory(config, 100, 100, needed - 1)


def test_training_refuses_it_before_it_is_made(model_config, train_config, copy_ids):
    config = model_config.model_copy(update={"d_ff": 10**12})
    with pytest.raises(ValueError, match=r"GB to train, and .* GB are here.* lower"):
        Trainer(train_config(), config, copy_ids)
