"""Numbers, hours and dates in both languages."""

import pytest

from transformer.text.phrasebook.numbers import (
    clock,
    date,
    english_number,
    english_ordinal,
    french_number,
)

FRENCH = """
zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
dix-sept dix-huit dix-neuf vingt vingt_et_un vingt-deux vingt-trois vingt-quatre vingt-cinq
vingt-six vingt-sept vingt-huit vingt-neuf trente trente_et_un trente-deux trente-trois
trente-quatre trente-cinq trente-six trente-sept trente-huit trente-neuf quarante quarante_et_un
quarante-deux quarante-trois quarante-quatre quarante-cinq quarante-six quarante-sept
quarante-huit quarante-neuf cinquante cinquante_et_un cinquante-deux cinquante-trois
cinquante-quatre cinquante-cinq cinquante-six cinquante-sept cinquante-huit cinquante-neuf
soixante soixante_et_un soixante-deux soixante-trois soixante-quatre soixante-cinq soixante-six
soixante-sept soixante-huit soixante-neuf soixante-dix soixante_et_onze soixante-douze
soixante-treize soixante-quatorze soixante-quinze soixante-seize soixante-dix-sept
soixante-dix-huit soixante-dix-neuf quatre-vingts quatre-vingt-un quatre-vingt-deux
quatre-vingt-trois quatre-vingt-quatre quatre-vingt-cinq quatre-vingt-six quatre-vingt-sept
quatre-vingt-huit quatre-vingt-neuf quatre-vingt-dix quatre-vingt-onze quatre-vingt-douze
quatre-vingt-treize quatre-vingt-quatorze quatre-vingt-quinze quatre-vingt-seize
quatre-vingt-dix-sept quatre-vingt-dix-huit quatre-vingt-dix-neuf cent
"""
ENGLISH = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four
twenty-five twenty-six twenty-seven twenty-eight twenty-nine thirty thirty-one thirty-two
thirty-three thirty-four thirty-five thirty-six thirty-seven thirty-eight thirty-nine forty
forty-one forty-two forty-three forty-four forty-five forty-six forty-seven forty-eight
forty-nine fifty fifty-one fifty-two fifty-three fifty-four fifty-five fifty-six fifty-seven
fifty-eight fifty-nine sixty sixty-one sixty-two sixty-three sixty-four sixty-five sixty-six
sixty-seven sixty-eight sixty-nine seventy seventy-one seventy-two seventy-three seventy-four
seventy-five seventy-six seventy-seven seventy-eight seventy-nine eighty eighty-one eighty-two
eighty-three eighty-four eighty-five eighty-six eighty-seven eighty-eight eighty-nine ninety
ninety-one ninety-two ninety-three ninety-four ninety-five ninety-six ninety-seven ninety-eight
ninety-nine a_hundred
"""


def test_french_numbers_to_100() -> None:
    # * keeps words from eliding before huit and onze; finish() drops it.
    numbers = [french_number(number).replace("*", "") for number in range(101)]
    assert numbers == [word.replace("_", " ") for word in FRENCH.split()]


def test_english_numbers_to_100() -> None:
    numbers = [english_number(number) for number in range(101)]
    assert numbers == [word.replace("_", " ") for word in ENGLISH.split()]


@pytest.mark.parametrize(
    ("number", "fr", "en"),
    [
        (101, "cent un", "a hundred and one"),
        (111, "cent onze", "a hundred and eleven"),
        (180, "cent quatre-vingts", "a hundred and eighty"),
        (200, "deux cents", "two hundred"),
        (201, "deux cent un", "two hundred and one"),
        (808, "huit cent huit", "eight hundred and eight"),
        (999, "neuf cent quatre-vingt-dix-neuf", "nine hundred and ninety-nine"),
        (1000, "mille", "a thousand"),
        (1001, "mille un", "a thousand and one"),
        (
            1984,
            "mille neuf cent quatre-vingt-quatre",
            "a thousand nine hundred and eighty-four",
        ),
        (2000, "deux mille", "two thousand"),
        (8011, "huit mille onze", "eight thousand and eleven"),
        (2200, "deux mille deux cents", "two thousand two hundred"),
    ],
)
def test_larger_numbers(number: int, fr: str, en: str) -> None:
    assert french_number(number) == fr
    assert english_number(number) == en


@pytest.mark.parametrize(
    ("number", "ordinal"),
    [
        (1, "first"),
        (2, "second"),
        (3, "third"),
        (4, "fourth"),
        (5, "fifth"),
        (8, "eighth"),
        (9, "ninth"),
        (11, "eleventh"),
        (12, "twelfth"),
        (20, "twentieth"),
        (21, "twenty-first"),
        (22, "twenty-second"),
        (30, "thirtieth"),
        (31, "thirty-first"),
    ],
)
def test_ordinals(number: int, ordinal: str) -> None:
    assert english_ordinal(number) == ordinal


@pytest.mark.parametrize(
    ("hour", "minute", "style", "fr", "en"),
    [
        (1, 0, "words", "une heure", "one o'clock"),
        (8, 0, "words", "*huit heures", "eight o'clock"),
        (8, 15, "words", "*huit heures et quart", "a quarter past eight"),
        (8, 30, "words", "*huit heures et demie", "half past eight"),
        (8, 45, "words", "neuf heures moins le quart", "a quarter to nine"),
        (12, 0, "words", "midi", "noon"),
        (12, 30, "words", "midi et demi", "half past noon"),
        (12, 45, "words", "une heure moins le quart", "a quarter to one"),
        (11, 45, "words", "midi moins le quart", "a quarter to noon"),
        (0, 0, "words", "minuit", "midnight"),
        (0, 15, "words", "minuit et quart", "a quarter past midnight"),
        (23, 45, "words", "minuit moins le quart", "a quarter to midnight"),
        (20, 0, "words", "*huit heures", "eight o'clock"),
        (1, 0, "mixed", "1 heure", "1 o'clock"),
        (8, 0, "mixed", "8 heures", "8 o'clock"),
        (8, 5, "digits", "8h05", "8:05"),
        (18, 30, "digits", "18h30", "18:30"),
        (9, 0, "digits", "9h", "9:00"),
    ],
)
def test_hours(hour: int, minute: int, style: str, fr: str, en: str) -> None:
    assert clock(hour, minute, style) == (fr, en)


@pytest.mark.parametrize(
    ("day", "digits", "fr", "en"),
    [
        (1, False, "le premier mai", "the first of May"),
        (1, True, "le 1er mai", "1 May"),
        (5, False, "le cinq mai", "the fifth of May"),
        (8, False, "le *huit mai", "the eighth of May"),
        (21, False, "le vingt et un mai", "the twenty-first of May"),
        (30, True, "le 30 mai", "30 May"),
    ],
)
def test_dates(day: int, digits: bool, fr: str, en: str) -> None:
    assert date(day, ("mai", "May"), digits=digits) == (fr, en)
