"""The trace is the greedy search itself: its tokens, its probabilities, its attention."""

import pytest
import torch

from transformer.evaluation.attention_maps import cross_attention
from transformer.evaluation.trace import TraceStep, describe_trace, trace_greedy
from transformer.search.decode import search

SOURCE = [5, 6, 7, 8, 2]


@pytest.fixture(scope="module")
def model(model_maker):
    return model_maker(source_vocab_size=20, target_vocab_size=20, with_biases=True)


@pytest.fixture
def steps(model, special):
    return trace_greedy(model, SOURCE, max_length=12, num_candidates=4, special=special)


def test_it_takes_the_tokens_of_greedy_search(model, make_options, special, steps):
    options = make_options(beam_size=1, max_length_factor=0.0, max_length_extra=12)
    mask = torch.ones(1, len(SOURCE), dtype=torch.bool)
    found = search(model, torch.tensor([SOURCE]), mask, options, special)
    tokens = found.target[0, 0, : int(found.lengths)].tolist()
    assert [step.token for step in steps] == tokens
    assert len(tokens) > 1


def test_candidates_have_the_probabilities_of_the_whole_forward_pass(model, special, steps):
    taken = [special.bos_id, *(step.token for step in steps[:-1])]
    logits = model(torch.tensor([SOURCE]), None, torch.tensor([taken]))[0]  # [T, V]
    for step, row in zip(steps, logits.softmax(-1), strict=True):
        best = row.topk(4)
        assert [id for id, _ in step.candidates] == best.indices.tolist()
        shares = torch.tensor([share for _, share in step.candidates])
        torch.testing.assert_close(shares, best.values, atol=1e-5, rtol=1e-4)


def test_attention_is_that_of_the_last_layer(model, special, steps):
    taken = [special.bos_id, *(step.token for step in steps[:-1])]
    expected = cross_attention(model, SOURCE, taken)[-1]
    torch.testing.assert_close(torch.tensor([step.attention for step in steps]), expected)


def test_no_more_candidates_than_the_vocabulary_holds(model, special):
    (step,) = trace_greedy(model, SOURCE, max_length=1, num_candidates=99, special=special)
    assert len(step.candidates) == 20
    assert sum(share for _, share in step.candidates) == pytest.approx(1)


def test_an_empty_source_is_refused(model, special):
    with pytest.raises(ValueError, match="no token to translate"):
        trace_greedy(model, [], max_length=3, num_candidates=1, special=special)


def test_it_reads_as_the_decoder_grows():
    names = {1: "<s>", 2: "</s>", 9: "我"}
    steps = [
        TraceStep(9, [(9, 0.75), (2, 0.25)], [0.2, 0.7, 0.1]),
        TraceStep(2, [(2, 1.0), (9, 0.0)], [0.0, 0.5, 0.5]),
    ]
    told = describe_trace(steps, ["▁i", "▁love", "</s>"], names.__getitem__, bos=1, num_looks=2)
    assert told.split("\n") == [
        "state   <s>",
        "step 1  我 0.750 | </s> 0.250   looks at ▁love 0.70, ▁i 0.20",
        "state   <s> 我",
        "step 2  </s> 1.000 | 我 0.000   looks at ▁love 0.50, </s> 0.50",
        "state   <s> 我 </s>",
    ]
