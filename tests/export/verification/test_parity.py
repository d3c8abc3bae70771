"""The comparison with PyTorch: what it finds."""

from dataclasses import replace

import onnxruntime
import pytest
import torch

from transformer.export.graph import serialize
from transformer.export.verification.decision_margin import smallest_margin
from transformer.export.verification.parity import TestSet, Trial, compare, translate_by_pytorch
from transformer.search.options import SearchConfig
from transformer.text.special_tokens import SpecialIds

SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
SEARCH = SearchConfig(
    beam_size=3, length_penalty=0.6, patience=2.0, max_length_factor=1.5, max_length_extra=4
).options(24)
SOURCES = [[4, 5, 6, 3], [8, 3], [], [9, 9, 4, 3], [11, 10, 9, 8, 7, 6, 3]]


def make_trial(model):
    test = TestSet(
        sources=SOURCES,
        references=[" ".join(map(str, ids)) for ids in SOURCES],
        decode=lambda ids: " ".join(map(str, ids)),
        bleu_tokenizer="13a",
        num_bootstrap=40,
        batch_tokens=60,
    )
    return Trial(model, test, SEARCH, source_pad=0, special=SPECIAL)


def open_shown(graph):
    return onnxruntime.InferenceSession(
        serialize(graph.with_logits), providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="session")
def sessions(fused_graph, fused):
    return fused, open_shown(fused_graph)


def compare_with(model, sessions, precision="float32", near_tie_margin=None):
    trial = make_trial(model)
    reference = translate_by_pytorch(trial)
    return reference, compare(trial, reference, precision, *sessions, near_tie_margin)


def test_faithful_graph_strays_by_rounding_alone(model, sessions):
    reference, parity = compare_with(model, sessions)
    assert parity.identical_share == 1
    assert parity.differences == []
    assert (parity.bleu_change.value, parity.bleu_change.low, parity.bleu_change.high) == (0, 0, 0)
    assert parity.bleu == reference.bleu
    assert "tok:13a" in reference.bleu_signature
    assert 0 < parity.max_logit_difference < 1e-4
    assert 0 < parity.max_score_difference < 1e-5
    assert len(parity.score_differences) == len(SOURCES)


def changed(model):
    other = type(model)(model.config, 12, 14).eval()
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.output_projection.bias[5] += 20.0
    return other


def test_graph_of_other_weights_is_found_out(model, sessions):
    reference, parity = compare_with(changed(model), sessions, near_tie_margin=1e-5)
    assert parity.max_logit_difference == pytest.approx(20.0, abs=1e-3)
    assert parity.identical_share < 1
    different = parity.differences[0]
    assert different.pytorch == reference.texts[different.row] != different.onnx
    assert different.margin > 1e-5
    assert not different.is_near_tie


def test_near_ties_are_a_matter_of_float32(model, sessions):
    assert compare_with(changed(model), sessions, near_tie_margin=100.0)[1].num_near_ties > 0
    parity = compare_with(changed(model), sessions, "int8", near_tie_margin=100.0)[1]
    assert parity.differences
    assert {(d.margin, d.is_near_tie) for d in parity.differences} == {(None, False)}


def test_logits_that_are_no_numbers_are_no_small_difference(model, sessions):
    broken = changed(model)
    with torch.no_grad():
        broken.output_projection.bias[7] = float("nan")
    trial = make_trial(broken)
    reference = translate_by_pytorch(make_trial(model))
    trial = replace(trial, model=broken)
    found = compare(trial, reference, "int8", *sessions, None).max_logit_difference
    assert found != found


def test_margin_is_zero_where_two_tokens_are_alike(model):
    with torch.no_grad():
        tied = type(model)(model.config, 12, 14).eval()
        tied.load_state_dict(model.state_dict())
        tied.output_projection.weight[5] = tied.output_projection.weight[4]
        tied.output_projection.bias[4:6] = 50.0
    options = replace(SEARCH, beam_size=1)
    assert smallest_margin(tied, [4, 5, 3], options, SPECIAL) == pytest.approx(0, abs=1e-6)
    assert smallest_margin(model, [4, 5, 3], options, SPECIAL) > 1e-4
