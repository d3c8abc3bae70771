"""Weights taken over: whole where they fit, by rows for tables of tokens, told where not."""

import pytest
import torch

from transformer.model.weights import model_weights
from transformer.pretraining.initialize import describe_taken, take_weights

SOURCE, TARGET = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])


def copies(model):
    return {name: value.clone() for name, value in model_weights(model).items()}


def test_the_same_shape_is_taken_whole(model_maker):
    other, model = model_maker(seed=1), model_maker(seed=2)
    report = take_weights(model, copies(other), same_vocabulary=True)
    torch.testing.assert_close(model(SOURCE, None, TARGET), other(SOURCE, None, TARGET))
    assert all(taken.num_taken == taken.num_values for taken in report)
    assert describe_taken(report) == (
        f"{len(report)} of {len(report)} tensors taken whole, "
        f"{model.num_parameters():,} of {model.num_parameters():,} values"
    )


def test_rows_behind_the_vocabulary_are_left_behind(model_maker):
    """A model that was pretrained with sentinels computes the same without their rows."""
    other = model_maker(seed=1, source_vocab_size=15, target_vocab_size=15, with_biases=True)
    model = model_maker(seed=2)
    report = take_weights(model, copies(other), same_vocabulary=True)
    assert not [taken for taken in report if taken.reason]
    expected = other(SOURCE, None, TARGET)[..., :12]
    torch.testing.assert_close(model(SOURCE, None, TARGET), expected)


def test_a_larger_vocabulary_keeps_its_own_further_rows(model_maker):
    other, model = model_maker(seed=1), model_maker(seed=2, source_vocab_size=14)
    own = copies(model)
    (taken,) = [t for t in take_weights(model, copies(other), same_vocabulary=True) if t.reason]
    assert (taken.num_taken, taken.num_values) == (12 * 16, 14 * 16)
    assert taken.reason == "the other model has 12 rows"
    table = model.source_embedding.tokens.weight
    torch.testing.assert_close(table[:12], other.source_embedding.tokens.weight)
    torch.testing.assert_close(table[12:], own["source_embedding.tokens.weight"][12:])


def test_another_vocabulary_leaves_the_tables_of_tokens(model_maker):
    other, model = model_maker(seed=1), model_maker(seed=2)
    own = copies(model)
    report = take_weights(model, copies(other), same_vocabulary=False)
    left = {taken.name for taken in report if taken.reason == "another vocabulary"}
    assert left == {
        "source_embedding.tokens.weight",
        "target_embedding.tokens.weight",
        "output_projection.weight",
        "output_projection.bias",
    }
    for name, value in model_weights(model).items():
        expected = own[name] if name in left else model_weights(other)[name]
        torch.testing.assert_close(value, expected)


@pytest.mark.parametrize(
    ("changes", "name", "reason", "told"),
    [
        ({"num_decoder_layers": 3}, "decoder.2.feed_forward.linear1.weight",
         "the other model has n",
         "decoder.2"),
        ({"d_ff": 48}, "encoder.0.feed_forward.linear1.weight", r"[32, 16] there, [48, 16] here",
         "encoder.0.feed_forward.linear1.weight"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_stays_and_is_told(model_maker, changes, name, reason, told):
    model = model_maker(seed=2, **changes)
    own = copies(model)
    report = take_weights(model, copies(model_maker(seed=1)), same_vocabulary=True)
    (taken,) = [taken for taken in report if taken.name == name]
    assert taken.num_taken == 0
    assert taken.reason.startswith(reason)
    torch.testing.assert_close(model_weights(model)[name], own[name])
    size = sum(one.num_values for one in report if one.name.startswith(told))
    lines = describe_taken(report).split("\n")
    assert f"{told}: 0 of {size:,} values ({taken.reason})" in lines
    assert len([line for line in lines if line.startswith(told)]) == 1
