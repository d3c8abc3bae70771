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


def test_the_toy_differs_from_its_text_by_the_projections_after_attention_and_the_unknown_mark():
    vocabulary, d = 6, 16
    feed_forward = linear(d, 4 * d) + linear(4 * d, d)
    encoder = vocabulary * d + 3 * linear(d, d) + feed_forward
    decoder = vocabulary * d + 6 * linear(d, d) + feed_forward + linear(d, vocabulary)
    projections = 3 * linear(d, d)
    unknown = 3 * d + 1  # in both embeddings, and in the last layer with its bias
    text = encoder + decoder
    assert count("toy-en-zh", vocabulary, vocabulary) == text + projections
    assert count("toy-en-zh", vocabulary + 1, vocabulary + 1) == text + projections + unknown


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


def test_anki_fr_en_2017_differs_from_its_text_by_biases_and_by_norms_of_their_own():
    vocabulary, d, d_ff, layers = 10_001, 256, 1024, 4
    norm = 2 * d
    attention = 3 * linear(d, d) + d * d
    feed_forward = linear(d, d_ff) + linear(d_ff, d)
    encoder = vocabulary * d + layers * (attention + feed_forward + norm)
    decoder = vocabulary * d + layers * (2 * attention + feed_forward + norm)
    text = encoder + decoder + linear(d, vocabulary)
    biases = layers * (1 + 2) * d
    norms = layers * (1 + 2) * norm
    assert count("anki-fr-en-2017", vocabulary, vocabulary) == text + biases + norms


def test_wmt14_de_en_has_the_parameters_of_its_text():
    vocabulary, d, d_ff, layers, length = 28_996, 512, 1024, 6, 128
    norm = 2 * d
    attention = 4 * linear(d, d)
    feed_forward = linear(d, d_ff) + linear(d_ff, d)
    embeddings = 2 * vocabulary * d + 2 * length * d
    encoder = layers * (attention + feed_forward + 2 * norm)
    decoder = layers * (2 * attention + feed_forward + 3 * norm)
    text = embeddings + encoder + decoder + linear(d, vocabulary)
    assert round(text / 1e6, 1) == 76.2
    assert count("wmt14-de-en", vocabulary, vocabulary) == text
