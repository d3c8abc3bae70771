"""Filters for noisy text: one pair for each way to fail, and what they must not take."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.test_filters import config
from transformer.config import ConfigError, parse_section
from transformer.text.clean_config import CleanConfig
from transformer.text.filters import make_filters
from transformer.text.noise_filters import Repetition, letter_share

LIMITS = {
    "min_letter_share": 0.5,
    "max_word_length": 30,
    "max_repetitions": 2,
    "min_digit_overlap": 0.5,
    "drop_different_placeholders": True,
}
QUIET = {
    "drop_copies": False,
    "drop_leaks": False,
    "max_length": None,
    "max_length_ratio": None,
}


def reasons(source: str, target: str) -> set[str]:
    """All filters are asked, not the first to object alone."""
    return {
        reason
        for keep in make_filters(config(**QUIET | LIMITS), [])
        if (reason := keep((source, target))) is not None
    }


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("Il y a 12 chats.", "There are 12 cats.", None),
        ("a1", "b1", None),
        ("a11", "b11", "few_letters"),
        ("un chat", "?!", "few_letters"),
        ("नमस्ते दुनिया", "Hello world", None),
        ("你好，世界。", "Hello world", None),
        ("abcdefghijklmnopqrstuvwxyzabcd", "x", None),
        ("x", "abcdefghijklmnopqrstuvwxyzabcde", "long_word"),
        ("non non non", "no no no", None),
        ("non non non non", "no", "repetition"),
        ("x", "lalalalalalalala", "repetition"),
        ("hahahahahaha!!!!!!", "hihi", None),
        ("a", "Ligne 1. Ligne 1. Ligne 1. Ligne 1.", "repetition"),
        ("Le 12 mai 2020 à Paris", "Paris, May 12, 2020", None),
        ("vers 1 000 000 de gens", "about 1,000,000 people", None),
        ("en 1999", "in 2024", "different_digits"),
        ("le chat", "the 3 cats", "different_digits"),
        ("٣ قطط", "3 cats", None),
        ("10 chats", "1 cats and dogs", None),
        ("de %1$s dans %2$s", "in %s of %s", None),
        ("%(name)s parle", "%(nom)s speaks", "different_placeholders"),
        ("une page de plus", "<b>one</b> page more", "different_placeholders"),
        ('<a href="fr.html">ici</a>', '<a href="en.html">here</a>', None),
        ("{count, plural, one {# page}}", "{count, plural, one {# feuille}}", None),
        ("{name} parle", "{name} and {other} speak", "different_placeholders"),
        ("voir https://fr.example.org", "see https://example.org/help", None),
        ("caf&eacute; à 50 %", "coffee at 50%", None),
        ("une page", "a page %", None),
        ("un `mot`", "a `word`", None),
    ],
)
def test_each_reason(source: str, target: str, reason: str | None) -> None:
    found = reasons(source, target)
    assert (reason in found) if reason else not found
    assert reasons(target, source) == found


def repeats(text: str, limit: int) -> bool:
    """By trying every beginning and length."""
    for start, length in product(range(len(text)), range(3, 101)):
        unit = text[start : start + length]
        if len(unit) < length or unit[0].isspace():
            continue
        again, place = 0, start + length
        while found := re.compile(" *" + re.escape(unit)).match(text, place):
            again, place = again + 1, found.end()
        if again > limit:
            return True
    return False


@given(st.text(st.sampled_from("ab "), max_size=24), st.integers(1, 3))
def test_repetition_is_what_trying_all_finds(text: str, limit: int) -> None:
    assert (Repetition(limit)((text, "")) is not None) == repeats(text, limit)


@pytest.mark.parametrize(
    "text",
    ["abc " * 20_000, "abcd" * 2 + "x" * 50_000, " ".join(f"abcdefg{n}" for n in range(20_000))],
)
def test_long_texts_are_judged_at_once(text: str) -> None:
    assert {"repetition"} >= reasons(text, text) - {"long_word"}


def test_marks_that_spell_vowels_are_letters() -> None:
    assert letter_share("नमस्ते") == 1
    assert letter_share("e\u0301té 1") == 0.8


def test_placeholders_need_punctuation() -> None:
    values = config(drop_different_placeholders=True).model_dump()
    values["source"]["strip_punctuation"] = True
    section, problems = parse_section(CleanConfig, "clean", values)
    assert section is None
    with pytest.raises(ConfigError, match="drop_different_placeholders = True: strip_punctuation"):
        raise ConfigError(problems)
