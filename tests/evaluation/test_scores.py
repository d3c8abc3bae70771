"""Scores of corpora small enough to know."""

import json

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from transformer.config import parse_section
from transformer.evaluation.config import EvaluateConfig
from transformer.evaluation.scores import (
    compare_bleu,
    has_four_words,
    resample_bleu,
    score_bleu,
    score_by_length,
    score_corpus,
    score_sentences,
)

REFERENCES = [
    "The cat sleeps on the red sofa.",
    "He lives in Japan with his sister.",
    "We have never seen such a big house!",
    "Do you want some more coffee?",
]
HYPOTHESES = [
    "The cat sleeps on the sofa.",
    "He lives in Japan with his sister.",
    "we have never seen a big house!",
    "You want more coffee?",
]


def score(hypotheses, references, tokenizer="13a"):
    return score_corpus(hypotheses, references, bleu_tokenizer=tokenizer, num_bootstrap=100)


def test_perfect_translations_score_perfectly():
    scores = score(REFERENCES, REFERENCES)
    assert scores.bleu.value == pytest.approx(100)
    assert scores.chrf.value == pytest.approx(100)
    assert scores.ter.value == 0
    assert (scores.bleu.low, scores.bleu.high) == pytest.approx((100, 100))


def test_nothing_in_common_scores_nothing():
    scores = score(["x"] * 4, REFERENCES)
    assert scores.bleu.value < 0.1
    assert scores.ter.value == pytest.approx(100)


def test_bleu_is_sacrebleu_s_cased_bleu():
    scores = score(HYPOTHESES, REFERENCES)
    assert scores.bleu.value == BLEU().corpus_score(HYPOTHESES, [REFERENCES]).score
    assert scores.bleu.value == score_bleu(HYPOTHESES, REFERENCES, bleu_tokenizer="13a")
    assert scores.bleu_lowercase.value > scores.bleu.value


def test_the_interval_surrounds_the_score():
    for one in vars(score(HYPOTHESES, REFERENCES)).values():
        assert one.low <= one.value <= one.high
        assert one.low < one.high


@pytest.mark.parametrize(
    ("name", "metric"), [("bleu", BLEU()), ("chrf", CHRF(word_order=2)), ("ter", TER())]
)
def test_the_interval_is_sacrebleu_s(name, metric):
    expected = metric.corpus_score(HYPOTHESES, [REFERENCES], n_bootstrap=100)
    ours = getattr(score(HYPOTHESES, REFERENCES), name)
    assert ours.value == expected.score
    assert ours.signature == str(metric.get_signature())
    told = json.loads(expected.format(width=6, signature=ours.signature, is_json=True))
    assert (ours.low + ours.high) / 2 == pytest.approx(told["confidence_mean"], rel=1e-5)
    assert (ours.high - ours.low) / 2 == pytest.approx(told["confidence_var"], rel=1e-5)


def test_empty_references_are_scored():
    scores = score(["x", "y"], ["", "y"])  # some resamples hold nothing but the empty one
    assert scores.ter.value == pytest.approx(100)


def test_scores_repeat_exactly():
    assert score(HYPOTHESES, REFERENCES) == score(HYPOTHESES, REFERENCES)


def test_signatures_tell_what_was_measured():
    scores = score(HYPOTHESES, REFERENCES)
    assert "bs:100|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp" in scores.bleu.signature
    assert "case:lc" in scores.bleu_lowercase.signature
    assert "nw:2" in scores.chrf.signature
    assert "tok:tercom" in scores.ter.signature


def test_ter_counts_characters_where_words_have_no_spaces():
    hypothesis, reference = ["我们去学校吃饭"], ["他们去学校吃饭"]
    assert score(hypothesis, reference).ter.value == pytest.approx(100)
    assert score(hypothesis, reference, "zh").ter.value == pytest.approx(100 / 7)


def test_empty_translations_are_scored():
    scores = score([""] * 4, REFERENCES)
    assert scores.bleu.value == 0
    assert scores.ter.value == pytest.approx(100)


def compare(hypotheses, others, num_bootstrap=200):
    return compare_bleu(
        hypotheses, others, REFERENCES, bleu_tokenizer="13a", num_bootstrap=num_bootstrap
    )


def test_a_difference_is_that_of_the_two_scores():
    bleu = [score(texts, REFERENCES).bleu.value for texts in (HYPOTHESES, REFERENCES)]
    worse = compare(HYPOTHESES, REFERENCES)
    assert worse.value == pytest.approx(bleu[0] - bleu[1])
    assert worse.low <= worse.value <= worse.high <= 0
    better = compare(REFERENCES, HYPOTHESES)
    assert (better.low, better.high) == pytest.approx((-worse.high, -worse.low))


def test_equal_translations_differ_by_nothing_in_every_resample():
    same = {"value": 0, "low": 0, "high": 0, "p": 1}
    assert vars(compare(HYPOTHESES, HYPOTHESES)) == same


@pytest.mark.parametrize(("num_spoiled", "is_significant"), [(1, False), (4, False), (16, True)])
def test_p_is_twice_the_share_of_resamples_beyond_0_and_agrees_with_the_interval(
    num_spoiled, is_significant
):
    references = REFERENCES * 10
    ours = [*HYPOTHESES[:1] * 3, *references[3:]]
    theirs = [*references[:-num_spoiled], *["nothing of it"] * num_spoiled]
    arguments = {"bleu_tokenizer": "13a", "num_bootstrap": 200}
    found = compare_bleu(ours, theirs, references, **arguments)
    resampled = resample_bleu([ours, theirs], references, **arguments)[1:]
    better, worse = ((sign * (resampled @ [1, -1]) >= 0).mean() for sign in (1, -1))
    assert found.p == pytest.approx(2 * max(min(better, worse), 1 / 200))
    assert found.is_significant == is_significant == (found.p <= 0.05)


def test_differences_repeat_exactly():
    assert compare(HYPOTHESES, REFERENCES) == compare(HYPOTHESES, REFERENCES)


def test_a_difference_needs_aligned_texts():
    with pytest.raises(ValueError, match="3 hypotheses stand against 4 references"):
        compare(HYPOTHESES, REFERENCES[:3])


def test_sentence_scores_are_aligned():
    values = score_sentences(HYPOTHESES, REFERENCES)
    assert values[1] == pytest.approx(100)
    assert all(value < 100 for index, value in enumerate(values) if index != 1)


def test_length_groups_hold_every_sentence_once():
    lengths = [0, 5, 6, 31]
    groups = score_by_length(
        HYPOTHESES, REFERENCES, lengths, length_bins=[5, 10, 30], bleu_tokenizer="13a"
    )
    assert [(g.label, g.num_sentences) for g in groups] == [("0–5", 2), ("6–10", 1), ("31+", 1)]
    assert groups[0].bleu == score_bleu(HYPOTHESES[:2], REFERENCES[:2], bleu_tokenizer="13a")


def test_one_group_of_all_scores_as_the_corpus():
    (group,) = score_by_length(
        HYPOTHESES, REFERENCES, [3] * 4, length_bins=[9], bleu_tokenizer="13a"
    )
    assert group.bleu == score_bleu(HYPOTHESES, REFERENCES, bleu_tokenizer="13a")


def test_misaligned_texts_are_refused():
    with pytest.raises(ValueError, match="3 hypotheses stand against 4 references"):
        score(HYPOTHESES[:3], REFERENCES)


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [("a b c x d e", False), ("a b c", False), ("x a b c d y", True), ("", False)],
)
def test_without_four_words_in_a_row_bleu_says_nothing(hypothesis, expected):
    assert has_four_words([hypothesis], ["a b c d e"], bleu_tokenizer="13a") is expected


def test_an_empty_test_set_is_refused():
    with pytest.raises(ValueError, match="there are no sentences"):
        score([], [])


SECTION = {
    "device": "auto",
    "num_sentences": None,
    "batch_tokens": 4096,
    "bleu_tokenizer": "13a",
    "num_bootstrap": 1000,
    "length_bins": [5, 10],
    "num_attention_plots": 3,
    "sets": {},
    "quality": None,
}


def test_the_evaluate_section_is_read():
    section, problems = parse_section(EvaluateConfig, "evaluate", SECTION)
    assert problems == []
    assert section is not None
    assert section.length_bins == [5, 10]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"length_bins": [10, 5]}, "length_bins = [10, 5] must be positive and strictly rising"),
        ({"length_bins": [0, 5]}, "length_bins = [0, 5] must be positive"),
        ({"length_bins": []}, "evaluate.length_bins = []"),
        ({"bleu_tokenizer": "moses"}, "evaluate.bleu_tokenizer = 'moses'"),
        ({"num_sentences": 0}, "evaluate.num_sentences = 0"),
        ({"num_bootstrap": 1}, "evaluate.num_bootstrap = 1"),
        ({"sets": {"Caps": {}}}, "evaluate.sets.Caps"),
        ({"sets": {"test": {"kind": "part", "part": "valid"}}}, "test: the reports have a file"),
        ({"sets": {"caps": {"kind": "noise", "noise": "shout", "seed": 1}}}, "sets.caps.noise ="),
        (
            {"sets": {"a": {"kind": "files", "source": "../a", "target": "b"}}},
            "evaluate.sets.a.source: '../a': give the name of a file in data/sets",
        ),
        ({"quality": {"name": "bleu", "command": "x"}}, "'bleu': has another meaning"),
        ({"device": "tpu"}, "evaluate.device = 'tpu'"),
    ],
)
def test_a_wrong_evaluate_section_is_refused(change, problem):
    section, problems = parse_section(EvaluateConfig, "evaluate", SECTION | change)
    assert section is None
    assert problem in problems[0]
