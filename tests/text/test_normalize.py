"""Normalisation: what is folded, what stays, and that doing it twice is doing it once."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.normalize import normalize

TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(" \t\n\r\u00a0\u202f\u2028\u200b\u200d\ufeff\u00ad'’-–«»éßİΣς\u0301\u0307"),
    )
)


def base(text: str) -> str:
    return normalize(text, lowercase=False, strip_punctuation=False)


def bare(text: str) -> str:
    return normalize(text, lowercase=True, strip_punctuation=True)


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


def test_joiners_that_spelling_needs_stay() -> None:
    persian, family = "می\u200cخواهم", "👩\u200d👧"
    assert base(persian) == persian
    assert base(family) == family


def test_composed_form_also_when_something_invisible_stood_between() -> None:
    assert base("e\u0301te\u200b\u0301") == "été"


def test_typographic_signs_stay_unless_punctuation_is_stripped() -> None:
    assert base("« L’été… » – 5 €") == "« L’été… » – 5 €"


def test_punctuation_rule_of_the_anki_tutorial() -> None:
    assert bare("Est-ce que « c’est » l'été, M. Dupont ?") == "est ce que c'est l'été m dupont"
    assert bare(string.punctuation) == "'"
    assert bare("“Well”—she said…") == "well she said"


def test_punctuation_goes_without_lowercasing() -> None:
    assert normalize("Ken's Bag!", lowercase=False, strip_punctuation=True) == "Ken's Bag"


def test_lowercasing_keeps_punctuation() -> None:
    assert normalize("Où ÇA ?", lowercase=True, strip_punctuation=False) == "où ça ?"


def test_half_surrogates_become_encodable() -> None:
    assert base("a\ud800b").encode() == "a\ufffdb".encode()


@given(TEXT, st.booleans(), st.booleans())
def test_twice_is_once(text: str, lowercase: bool, strip_punctuation: bool) -> None:
    once = normalize(text, lowercase=lowercase, strip_punctuation=strip_punctuation)
    assert normalize(once, lowercase=lowercase, strip_punctuation=strip_punctuation) == once
    assert once == once.strip(" ")
    assert "  " not in once
    assert "\n" not in once


@given(TEXT)
def test_the_strictest_form_does_not_depend_on_what_ran_before(text: str) -> None:
    # The split rests on it: no setting of `clean` can make equal what it held for different.
    for lowercase in (False, True):
        for strip_punctuation in (False, True):
            weaker = normalize(text, lowercase=lowercase, strip_punctuation=strip_punctuation)
            assert bare(weaker) == bare(text)
