"""Text normalisation, the same for training data and for what is translated later."""

import re
import string
import unicodedata
from functools import cache

# White space and line separators of every kind, as single spaces: tab to carriage return, the
# four information separators, NEL, NBSP, OGHAM, U+2000 to U+200A, U+2028, U+2029, U+202F, ...
_SPACES = (
    *range(0x09, 0x0E),
    *range(0x1C, 0x20),
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)
# Characters without width or meaning of their own: controls, soft hyphen, zero-width space, word
# joiner, byte order mark, marks of writing direction, invisible operators, annotation anchors.
# The zero-width joiner and non-joiner stay: Persian, Indic scripts and emoji are spelt with them.
_INVISIBLE = (
    *range(0x00, 0x09),
    *range(0x0E, 0x1C),
    *range(0x7F, 0x85),
    *range(0x86, 0xA0),
    0xAD,
    0x61C,
    0x180E,
    0x200B,
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2065),
    *range(0x2066, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
)
# Written out, not asked of `unicodedata`, so that every Python version normalises alike. Halves
# of surrogate pairs are no characters and can't be encoded.
_BASE = (
    dict.fromkeys(_SPACES, " ")
    | dict.fromkeys(_INVISIBLE)
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
# The one list of what is an apostrophe: quotes of single strokes, accents without a letter, primes.
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc\u2032\uff07\u00b4"), "'")
_PLAIN_FORMS = str.maketrans(
    # Full-width forms of ASCII, U+FF01 to U+FF5E.
    {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | _APOSTROPHES
    | dict.fromkeys("«»‹›“”„‟″", '"')
    | {"…": "...", "œ": "oe", "æ": "ae", "Œ": "OE", "Æ": "AE", "ĳ": "ij", "Ĳ": "IJ"}
    | {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_SPECIAL_FORM = re.compile(f"[{''.join(map(re.escape, map(chr, _PLAIN_FORMS)))}]")
_CAPITAL_BEFORE_SMALL = re.compile("[ŒÆ](?=[a-z])")
# The space that French sets inside its quotes. Where they point inwards, as in »German«, the space
# stands outside and stays.
_SPACE_IN_QUOTES = re.compile("(?<![^ ])(«) | (»)(?=[.,;:?!)]*(?: |$))")
# Only where the marks end a word: "a :b" and a smiley stay.
_SPACE_BEFORE_MARKS = re.compile(r' (?=(?:[?!]+[").\]]*|[:;])(?: |$))')
_REPEATED_MARKS = re.compile(r"[?!][?!]+")
_MANY_STOPS = re.compile(r"\.{4,}")
_ASCII_SIGNS = frozenset(string.punctuation) - {"'"}
_RUN_OF_SPACES = re.compile(" {2,}")


def normalize(text: str, *, lowercase: bool, strip_punctuation: bool, fold_typography: bool) -> str:
    """Normalises one text. Doing it twice changes nothing more.

    Always: Unicode NFC; every kind of space and line end becomes a plain space, runs of them one;
    control and invisible characters go, but for the zero-width joiner and non-joiner; no space at
    either edge.

    Args:
        text: any text, of any length.
        lowercase: lower-case it.
        strip_punctuation: make hyphens and dashes spaces, typographic apostrophes plain ones, and
            remove all other punctuation and ASCII signs, apostrophes excepted.
        fold_typography: give what people type in several ways one plain form: apostrophes and
            quotes of all shapes become ' and ", "…" three full stops, ligatures their letters,
            full-width signs and letters ASCII; no space before ? ! : ; at the end of a word nor
            within « »; of repeated ? and ! one remains, or "?!" of both, and of more than three
            full stops three.
    """
    # `isprintable` is False for all that `_BASE` changes, and quicker.
    if not text.isprintable():
        text = text.translate(_BASE)
    text = unicodedata.normalize("NFC", text)
    if fold_typography:
        text = _fold_typography(_join_spaces(text))
    if lowercase:
        text = text.lower()
    if strip_punctuation:
        text = "".join(map(_without_punctuation, text.translate(_APOSTROPHES)))
    if lowercase or strip_punctuation:
        # A mark that stood behind what is gone may now join the letter before it.
        text = unicodedata.normalize("NFC", text)
    return _join_spaces(text)


def _join_spaces(text: str) -> str:
    # To look for what is rare first is ten times as fast as the expression.
    return (_RUN_OF_SPACES.sub(" ", text) if "  " in text else text).strip(" ")


def _fold_typography(text: str) -> str:
    if _SPECIAL_FORM.search(text):
        text = _SPACE_IN_QUOTES.sub(r"\1\2", text)
        text = _CAPITAL_BEFORE_SMALL.sub(lambda found: "Oe" if found[0] == "Œ" else "Ae", text)
        text = unicodedata.normalize("NFC", text.translate(_PLAIN_FORMS))
    text = _SPACE_BEFORE_MARKS.sub("", text)
    text = _REPEATED_MARKS.sub(_each_mark_once, text)
    return _MANY_STOPS.sub("...", text) if "...." in text else text


def _each_mark_once(found: re.Match[str]) -> str:
    return "".join(mark for mark in "?!" if mark in found[0])


@cache  # one entry for each character that ever comes by
def _without_punctuation(character: str) -> str:
    if character == "'" or character.isalnum():
        return character
    category = unicodedata.category(character)
    if category == "Pd":
        return " "
    return "" if category[0] == "P" or character in _ASCII_SIGNS else character
