"""Two models side by side: params, scores, chance, sentences."""

from dataclasses import replace

import pytest

from pipeline.experiments.comparison import compare
from pipeline.experiments.comparison_report import describe_comparison, list_comparison
from pipeline.experiments.results import (
    Results,
    ResultsError,
    SetResults,
    Translation,
    parse_sets,
    parse_translations,
)
from transformer.evaluation.scores import compare_bleu, score_corpus, score_sentences
from transformer.evaluation.tables import flatten_scores, write_translations

REFERENCES = [f"The {animal} sleeps in the {place} ." for animal in ["cat", "dog", "hen"]
              for place in ["house", "garden", "barn", "street"]]  # fmt: skip
SOURCES = [f"phrase {row}" for row in range(len(REFERENCES))]
WORSE = [text.replace("sleeps", "eats") if row % 2 else text for row, text in enumerate(REFERENCES)]


def make(name: str, texts: list[str], **params: str) -> Results:
    scores = score_corpus(texts, REFERENCES, bleu_tokenizer="13a", num_bootstrap=100)
    flat = flatten_scores(scores)
    figures = {key: value for key, value in flat.items() if isinstance(value, float)}
    chrf = score_sentences(texts, REFERENCES)
    return Results(
        name=name,
        origin="made up",
        params={key.replace("__", "."): value for key, value in params.items()},
        figures=figures | {"parameters": 1000},
        bleu_signature=scores.bleu.signature,
        translations=[
            Translation(*row) for row in zip(SOURCES, REFERENCES, texts, chrf, strict=True)
        ],
    )


def with_sets(results: Results, **sets: Results) -> Results:
    """With further sets, of which `sets` are the results."""
    return replace(
        results,
        sets={
            name: SetResults("ab" * 32, one.figures, one.translations) for name, one in sets.items()
        },
    )


def test_the_difference_is_that_of_paired_resamples():
    comparison = compare(make("a", WORSE), make("b", REFERENCES))
    expected = compare_bleu(REFERENCES, WORSE, REFERENCES, bleu_tokenizer="13a", num_bootstrap=100)
    assert comparison.bleu == expected
    assert comparison.bleu.is_significant
    assert "B is significantly better" in describe_comparison(comparison, 1, 80)
    turned = compare(make("a", REFERENCES), make("b", WORSE))
    assert turned.bleu.value == -expected.value
    assert "B is significantly worse" in describe_comparison(turned, 1, 80)


def test_equal_translations_do_not_differ():
    comparison = compare(make("a", WORSE), make("b", WORSE))
    assert (comparison.bleu.low, comparison.bleu.value, comparison.bleu.high) == (0, 0, 0)
    assert not comparison.bleu.is_significant
    assert comparison.largest_gains(3) == comparison.largest_losses(3) == []
    text = describe_comparison(comparison, 3, 80)
    assert "No significant difference" in text
    assert "12 translations are equal" in text


def test_one_sentence_is_no_significant_difference():
    texts = [*REFERENCES[:-1], WORSE[-1]]
    assert not compare(make("a", texts), make("b", REFERENCES)).bleu.is_significant


def test_sentences_are_ranked_by_their_gain():
    texts = [*REFERENCES]
    texts[3], texts[5] = "The hen .", "Nothing at all"
    comparison = compare(make("a", texts), make("b", REFERENCES))
    assert [pair.row for pair in comparison.largest_gains(9)] == [5, 3]
    assert comparison.largest_losses(9) == []
    assert [pair.row for pair in comparison.largest_gains(1)] == [5]
    values = list_comparison(comparison, 1)
    assert values["largest_gains"][0]["a"]["text"] == "Nothing at all"
    assert "Nothing at all" in describe_comparison(comparison, 1, 80)


def test_further_sets_are_compared_as_the_test_set_is():
    a, b = make("a", WORSE), make("b", REFERENCES)
    expected = compare(b, a)
    comparison = compare(with_sets(a, typos=b, own=a), with_sets(b, typos=a, own=a))
    assert comparison.sets["typos"].bleu == expected.bleu
    assert comparison.sets["own"].bleu.value == 0
    text = describe_comparison(comparison, 1, 120)
    assert "typos: B is significantly worse: BLEU -" in text
    assert "own: no significant difference: BLEU +0.00" in text
    (row,) = [line.split() for line in text.split("\n") if line.startswith("typos: BLEU")]
    assert (row[3], row[6]) == ("100.00", f"{a.figures['bleu']:.2f}")
    values = list_comparison(comparison, 1)
    of_test_set = list_comparison(expected, 1)
    assert values["sets"]["typos"]["bleu_difference"] == of_test_set["bleu_difference"]
    assert values["sets"]["typos"]["a"]["ter"] == b.figures["ter"]
    assert (values["sets_left_out"], of_test_set["sets"]) == ({}, {})


def test_sets_that_one_side_lacks_or_has_with_other_sentences_are_told():
    one = make("one", WORSE)
    a, b = with_sets(one, typos=one, mine=one), with_sets(make("b", WORSE), typos=one, news=one)
    other = replace(b.sets["typos"], sha256="cd" * 32)
    comparison = compare(a, replace(b, sets=dict(b.sets) | {"typos": other}))
    assert comparison.sets == {}
    left_out = {
        "typos": "its sources or references differ",
        "mine": "not scored by b",
        "news": "not scored by one",
    }
    assert list_comparison(comparison, 1)["sets_left_out"] == left_out
    text = describe_comparison(comparison, 1, 80)
    for name, why in left_out.items():
        assert f"{name}: not compared ({why})." in text


def test_a_set_whose_translations_are_gone_is_told():
    report = {"sets": {"typos": {"sha256": "ab" * 32, "bleu": 1.0}}}
    with pytest.raises(ResultsError, match=r"^run: its translations of the set typos are missing"):
        parse_sets("run", report, lambda file: None)


def test_params_that_differ_are_listed():
    a = make("a", WORSE, train__seed="1", train__lr="1e-05", train__old="x", model__size="4")
    b = make("b", WORSE, train__seed="2", train__lr="0.00001", train__new="y", model__size="4")
    differences = [(one.name, one.a, one.b) for one in compare(a, b).params]
    assert differences == [
        ("train.seed", "1", "2"),
        ("train.old", "x", None),
        ("train.new", None, "y"),
    ]


def test_different_decoding_settings_are_told_with_the_verdict():
    a = make("a", WORSE, search__beam_size="4", train__seed="1")
    b = make("b", WORSE, search__beam_size="1", train__seed="2")
    told = "Different decoding settings (search.beam_size 4 and 1)"
    assert told in describe_comparison(compare(a, b), 1, 80)
    assert list_comparison(compare(a, b), 1)["different_decoding_settings"] == ["search.beam_size"]
    assert "Different decoding settings" not in describe_comparison(compare(a, a), 1, 80)


def test_a_section_that_one_side_lacks_is_no_difference():
    a = make("a", WORSE, train__seed="1", evaluate__device="cpu")
    assert compare(a, make("b", WORSE, train__seed="1")).params == []


def test_another_test_set_is_refused():
    a, b = make("first", WORSE), make("second", WORSE)
    with pytest.raises(ResultsError, match=r"of 12 and of 11 sentences.*quick run"):
        compare(a, replace(b, translations=b.translations[1:]))
    other = [*b.translations[:-1], replace(b.translations[-1], reference="Something else")]
    with pytest.raises(ResultsError, match=r"sentence 12 .*'Something else'"):
        compare(a, replace(b, translations=other))
    other = [replace(b.translations[0], source="autre"), *b.translations[1:]]
    with pytest.raises(ResultsError, match=r"sentence 1 .*'autre'"):
        compare(a, replace(b, translations=other))


def test_sources_may_be_normalised_otherwise():
    a, b = make("a", WORSE), make("b", WORSE)
    shouted = [replace(one, source=one.source.upper() + " !") for one in b.translations]
    assert compare(a, replace(b, translations=shouted)).bleu.value == 0


def test_another_tokenisation_is_refused():
    a, b = make("a", WORSE), make("b", WORSE)
    other = replace(b, bleu_signature=b.bleu_signature.replace("tok:13a", "tok:intl"))
    with pytest.raises(ResultsError, match="bleu_tokenizer = 13a, of b with intl"):
        compare(a, other)


def test_lines_keep_to_the_width():
    long = [f"{text} {'word ' * 30}" for text in REFERENCES]
    text = describe_comparison(compare(make("a", WORSE), make("b", long)), 2, 90)
    assert max(map(len, text.split("\n"))) <= 90
    assert "B loses most" in text


def test_the_table_of_the_stage_is_read(tmp_path):
    path = tmp_path / "translations.csv"
    text = 'A "quote", a comma\nand a line'
    columns = {"sources": ["s"], "references": ["r"], "translations": [text]}
    write_translations(path, **columns, scores=[-0.5], sentence_chrf=[12.25])
    read = parse_translations("x", path.read_text(encoding="utf-8"))
    assert read == [Translation("s", "r", text, 12.25)]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "source,reference,translation,chrf\ns,r,t,much\n"])
def test_a_table_that_is_none_is_refused(text):
    with pytest.raises(ResultsError, match=r"^run: its table of translations can't be read"):
        parse_translations("run", text)
