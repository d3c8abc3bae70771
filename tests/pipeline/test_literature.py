"""The recipes of `docs/literature.md` build models with the counts that their texts' sizes give."""

import torch
from ruamel.yaml import YAML

from pipeline.recipes import make_params
from transformer.config import parse_section
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer


def count(recipe: str, source_vocab_size: int, target_vocab_size: int) -> int:
    """The parameters of a recipe's model; no memory is taken for them."""
    values = YAML(typ="safe", pure=True).load(make_params(recipe, []))
    config, problems = parse_section(ModelConfig, "model", values["model"])
    assert not problems
    with torch.device("meta"):
        return Transformer(config, source_vocab_size, target_vocab_size).num_parameters()


def linear(width_in: int, width_out: int) -> int:
    return width_in * width_out + width_out


def test_pre_norm_notebook_has_the_parameters_that_its_text_makes():
    vocabulary, d, d_ff = 50_000, 512, 2048
    norm = 2 * d
    attention = 4 * linear(d, d)
    feed_forward = linear(d, d_ff) + linear(d_ff, d)
    encoder = attention + feed_forward + 2 * norm + norm
    decoder = 2 * attention + feed_forward + 3 * norm + norm
    embeddings = 2 * vocabulary * d
    text = embeddings + encoder + decoder + linear(d, vocabulary)
    assert count("pre-norm-notebook", vocabulary, vocabulary) == text
