"""The comparison with PyTorch: what it finds, what it lets pass."""

from dataclasses import replace

import pytest
import torch

from transformer.decoding.beam import SpecialIds
from transformer.decoding.config import SearchConfig
from transformer.export.config import ExportConfig
from transformer.export.graph import with_logits
from transformer.export.margin import smallest_margin
from transformer.export.parity import Difference, Parity, TestSet, check, compare, two_digits

SPECIAL = SpecialIds(pad=0, bos=2, eos=3)
SEARCH = SearchConfig(beam_size=3, length_penalty=0.6, max_length_factor=1.5, max_length_extra=4)
CONFIG = ExportConfig(
    attention="fused", max_bleu_difference=0.1, max_logit_difference=1e-3, near_tie_margin=None
)
SOURCES = [[4, 5, 6, 3], [8, 3], [], [9, 9, 4, 3], [11, 10, 9, 8, 7, 6, 3]]


def make_test_set():
    return TestSet(
        sources=SOURCES,
        references=[" ".join(map(str, ids)) for ids in SOURCES],
        decode=lambda ids: " ".join(map(str, ids)),
        bleu_tokenizer="13a",
        batch_tokens=60,
    )


@pytest.fixture(scope="session")
def sessions(fused_graph, fused):
    import onnxruntime

    from transformer.export.graph import serialise

    shown = onnxruntime.InferenceSession(
        serialise(with_logits(fused_graph)), providers=["CPUExecutionProvider"]
    )
    return fused, shown


def compare_with(model, sessions, near_tie_margin=None):
    return compare(
        model,
        *sessions,
        make_test_set(),
        SEARCH,
        near_tie_margin,
        source_pad=0,
        special=SPECIAL,
    )


def test_faithful_graph_passes(model, sessions):
    parity = compare_with(model, sessions)
    assert parity.identical_share == 1
    assert parity.differences == []
    assert parity.pytorch_bleu == parity.onnx_bleu
    assert "tok:13a" in parity.bleu_signature
    assert 0 < parity.max_logit_difference < 1e-4
    assert 0 < parity.max_score_difference < 1e-5
    check(parity, CONFIG)


def test_graph_of_other_weights_is_found_out(model, sessions):
    with torch.no_grad():
        changed = type(model)(model.config, 12, 14).eval()
        changed.load_state_dict(model.state_dict())
        changed.projection.bias[5] += 20.0
    parity = compare_with(changed, sessions, near_tie_margin=1e-5)
    assert parity.max_logit_difference == pytest.approx(20.0, abs=1e-3)
    assert parity.differences
    assert parity.identical_share < 1
    with pytest.raises(ValueError, match="logits differ by up to 20;"):
        check(parity, CONFIG)


def a_parity(**changes):
    near = Difference(3, "a b", "a c", -0.5, -0.5, 1e-7, True)
    values = {
        "num_sentences": 10,
        "differences": [near],
        "max_score_difference": 1e-6,
        "near_tie_margin": 2e-6,
        "max_logit_difference": 1e-5,
        "pytorch_bleu": 30.0,
        "onnx_bleu": 30.05,
        "bleu_signature": "nrefs:1",
    }
    return Parity(**(values | changes))


def test_near_ties_pass():
    parity = a_parity()
    check(parity, CONFIG)
    assert parity.num_near_ties == 1
    assert parity.identical_share == pytest.approx(0.9)
    assert parity.metrics()["num_unexplained"] == 0


def far(difference):
    return replace(difference, margin=0.01, is_near_tie=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"differences": [far(a_parity().differences[0])]},
            r"1 of 10 translations differ .*near_tie_margin.* row 3 with margin 0.01",
        ),
        ({"onnx_bleu": 29.8}, r"BLEU is 30.00 in PyTorch and 29.80 .*max_bleu_difference = 0.1"),
        ({"max_logit_difference": 0.02}, r"by up to 0.02; export.max_logit_difference = 0.001"),
        ({"max_logit_difference": float("nan")}, "by up to nan"),
    ],
)
def test_each_tolerance_is_held(changes, message):
    with pytest.raises(ValueError, match=message):
        check(a_parity(**changes), CONFIG)


def test_margin_is_zero_where_two_tokens_are_alike(model):
    with torch.no_grad():
        tied = type(model)(model.config, 12, 14).eval()
        tied.load_state_dict(model.state_dict())
        tied.projection.weight[5] = tied.projection.weight[4]
        tied.projection.bias[4:6] = 50.0
    settings = {"beam_size": 1, "length_penalty": 0.6, "max_length": 8, "special": SPECIAL}
    assert smallest_margin(tied, [4, 5, 3], **settings) == pytest.approx(0, abs=1e-6)
    assert smallest_margin(model, [4, 5, 3], **settings) > 1e-4


def test_two_digits_are_kept():
    assert two_digits(1.2345e-6) == 1.2e-6
    assert two_digits(0.0) == 0.0
