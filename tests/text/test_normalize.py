"""Normalisation: what is folded, what stays, and that doing it twice is doing it once."""

import string
from itertools import product
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.normalize import _BASE, normalize

TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            " \t\n\r\u00a0\u202f\u2028\u200b\u200d\ufeff\u00ad'’´-–«»“éßİΣςœŒǽﬁＡ！＂…"
            '?!:;.")\u0301\u0307'
        ),
    )
)


def base(text: str) -> str:
    return normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)


def bare(text: str) -> str:
    return normalize(text, lowercase=True, strip_punctuation=True, fold_typography=False)


def folded(text: str) -> str:
    return normalize(text, lowercase=False, strip_punctuation=False, fold_typography=True)


def strictest(text: str) -> str:
    return normalize(text, lowercase=True, strip_punctuation=True, fold_typography=True)


@pytest.mark.parametrize(
    "space", "\t\n\r\v\f\x1c\x85\xa0\u1680\u2003\u2009\u2028\u2029\u202f\u3000"
)
def test_every_kind_of_space_becomes_one_plain_space(space: str) -> None:
    assert base(f"{space}Va{space} {space}!{space}") == "Va !"


@pytest.mark.parametrize(
    "invisible", "\x00\x07\x7f\x9f\xad\u061c\u200b\u200e\u202a\u2060\u2066\ufeff"
)
def test_invisible_characters_go(invisible: str) -> None:
    assert base(f"{invisible}Donau{invisible}dampfer") == "Donaudampfer"


def test_text_that_prints_holds_nothing_that_is_always_replaced() -> None:
    # The short way of `normalize` rests on it.
    assert not [code for code in _BASE if chr(code).isprintable()]


def test_joiners_that_spelling_needs_stay() -> None:
    persian, family = "می\u200cخواهم", "👩\u200d👧"
    assert base(persian) == persian
    assert base(family) == family


def test_composed_form_also_when_something_invisible_stood_between() -> None:
    assert base("e\u0301te\u200b\u0301") == "été"


def test_typographic_signs_stay_unless_they_are_folded_or_stripped() -> None:
    assert base("« L’été… » – 5 €") == "« L’été… » – 5 €"


def test_punctuation_rule_of_the_anki_tutorial() -> None:
    assert bare("Est-ce que « c’est » l'été, M. Dupont ?") == "est ce que c'est l'été m dupont"
    assert bare(string.punctuation) == "'"
    assert bare("“Well”—she said…") == "well she said"


def test_punctuation_goes_without_lowercasing() -> None:
    assert (
        normalize("Ken's Bag!", lowercase=False, strip_punctuation=True, fold_typography=False)
        == "Ken's Bag"
    )


def test_lowercasing_keeps_punctuation() -> None:
    assert (
        normalize("Où ÇA ?", lowercase=True, strip_punctuation=False, fold_typography=False)
        == "où ça ?"
    )


def test_half_surrogates_become_encodable() -> None:
    assert base("a\ud800b").encode() == "a\ufffdb".encode()


# Each row: one sentence in the forms in which it is typed, the one that they get first.
TYPED = [
    ("j'ai l'heure", "j’ai l’heure", "j‘ai l´heure", "jʼai l′heure", "j＇ai l‛heure"),
    (
        "où va-t-il? là!",
        "où va-t-il ? là !",
        "où va-t-il\u202f? là\xa0!",
        "où va-t-il\u2009?? là!!!",
    ),
    ("il dit: oui; non", "il dit : oui ; non", "il dit\xa0: oui\u202f; non"),
    (
        'il dit "oui"',
        "il dit « oui »",
        "il dit «oui»",
        "il dit “oui”",
        "il dit „oui“",
        "il dit »oui«",
    ),
    ('"ça va?" dit-il', "« ça va ? » dit-il", "«\xa0ça va\u202f?\xa0» dit-il", "“ça va ?” dit-il"),
    ("ma soeur, Oeuvre, OEUVRE, ex aequo", "ma sœur, Œuvre, ŒUVRE, ex æquo"),
    ("fin, fleur, effort, affligé", "ﬁn, ﬂeur, eﬀort, aﬄigé"),
    ("A1? (b)", "Ａ１？ （ｂ）", "Ａ１ ？ （ｂ）"),
    ("bon...", "bon…", "bon......", "bon……"),
    ("quoi?! non", "quoi !? non", "quoi?!?! non", "quoi ! ? non", "quoi ?!! non"),
    ("quoi? (vraiment!)", "quoi ? (vraiment !)", "quoi ?? (vraiment !!)"),
]


@pytest.mark.parametrize("forms", TYPED, ids=lambda forms: forms[0])
def test_a_sentence_has_one_form_however_it_is_typed(forms: tuple[str, ...]) -> None:
    for form in forms:
        assert folded(form) == forms[0]
        assert folded(f"Oui. {form} encore") == f"Oui. {forms[0]} encore"


@pytest.mark.parametrize(
    "text",
    [
        "à 10:30, a :b, voilà :) :-) 3.5.. fin",
        "هل تتكلم العربية؟؟ نعم، قليلا",
        "「你好」。这是什么、我们",
        "¿Qué? ¡Hola! – 5 € – naïve, Straße, smørbrød, ca l`eau",
    ],
)
def test_what_has_no_plainer_form_stays(text: str) -> None:
    assert folded(text) == text


def test_quotes_that_point_inwards_keep_the_space_outside() -> None:
    assert folded("er sagte »ja« und »nein«, »so«") == 'er sagte "ja" und "nein", "so"'


SETTINGS = list(product((False, True), repeat=3))


@given(TEXT, st.sampled_from(SETTINGS))
def test_twice_is_once(text: str, settings: tuple[bool, bool, bool]) -> None:
    chosen = dict(zip(("lowercase", "strip_punctuation", "fold_typography"), settings, strict=True))
    once = normalize(text, **chosen)
    assert normalize(once, **chosen) == once
    assert once == once.strip(" ")
    assert "  " not in once
    assert "\n" not in once


@given(TEXT)
def test_the_strictest_form_does_not_depend_on_what_ran_before(text: str) -> None:
    # The split rests on it: no setting of `clean` can make equal what it held for different.
    for lowercase, strip_punctuation, fold_typography in SETTINGS:
        weaker = normalize(
            text,
            lowercase=lowercase,
            strip_punctuation=strip_punctuation,
            fold_typography=fold_typography,
        )
        assert strictest(weaker) == strictest(text)


@pytest.mark.parametrize("unit", ["!", " !", " :", "« ", " »", '!"', "…", ".", " !)", "œ", "Œ"])
def test_time_grows_with_the_text_whatever_it_holds(unit: str) -> None:
    start = process_time()
    strictest(unit * 100_000 + "a")
    folded("a" + unit * 100_000 + "a")
    assert process_time() - start < 3
