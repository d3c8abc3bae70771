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
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u02bc\u2032\uff07"), "'")
_ASCII_SIGNS = frozenset(string.punctuation) - {"'"}
_RUN_OF_SPACES = re.compile(" {2,}")


def normalize(text: str, *, lowercase: bool, strip_punctuation: bool) -> str:
    """Normalises one text. Doing it twice changes nothing more.

    Always: Unicode NFC; every kind of space and line end becomes a plain space, runs of them one;
    control and invisible characters go, but for the zero-width joiner and non-joiner; no space at
    either edge.

    Args:
        text: any text, of any length.
        lowercase: lower-case it.
        strip_punctuation: make hyphens and dashes spaces, typographic apostrophes plain ones, and
            remove all other punctuation and ASCII signs, apostrophes excepted.
    """
    text = unicodedata.normalize("NFC", text.translate(_BASE))
    if lowercase:
        text = text.lower()
    if strip_punctuation:
        text = "".join(map(_without_punctuation, text.translate(_APOSTROPHES)))
    if lowercase or strip_punctuation:
        # A mark that stood behind what is gone may now join the letter before it.
        text = unicodedata.normalize("NFC", text)
    return _RUN_OF_SPACES.sub(" ", text).strip(" ")


@cache  # one entry for each character that ever comes by
def _without_punctuation(character: str) -> str:
    if character == "'" or character.isalnum():
        return character
    category = unicodedata.category(character)
    if category == "Pd":
        return " "
    return "" if category[0] == "P" or character in _ASCII_SIGNS else character
