"""Noise on a text: the forms in which people type."""

import re
import unicodedata
from collections.abc import Callable
from random import Random
from typing import Literal, get_args

NoiseKind = Literal[
    "lose_accents", "typo", "lose_final_mark", "lowercase", "uppercase", "title_case"
]
# In the order in which they work.
KINDS: tuple[NoiseKind, ...] = get_args(NoiseKind)

# Of Latin letters alone: a Japanese or Indic sign without its mark is another sign.
_ACCENTS = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+")
# With the space that may stand before them.
_FINAL_MARKS = " .?!…。？！؟"
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR_KEYS = {
    key: row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
    for rows in (_KEY_ROWS, map(str.upper, _KEY_ROWS))
    for row in rows
    for place, key in enumerate(row)
}


def add_noise(kind: NoiseKind, text: str, random: Random) -> str:
    """A text with one kind of noise: the text itself where there is nothing to be done.

    Args:
        kind: one of `KINDS`, the fields of `AugmentConfig`.
        text: in Unicode NFC, no space at its edges.
        random: chooses the typo; no other kind has a choice.
    """
    return _NOISE[kind](text, random)


def _lose_accents(text: str, _: Random) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _typo(text: str, random: Random) -> str:
    words = [
        found
        for found in _LONG_WORD.finditer(text)
        # Only scripts with case: in Chinese or Thai such a run of letters is no word. A capital
        # inside the sentence begins a name (or a German noun).
        if found[0].lower() != found[0].upper()
        and (found.start() == 0 or not found[0][0].isupper())
    ]
    if not words:
        return text
    word = random.choice(words)
    return text[: word.start()] + _misspell(word[0], random) + text[word.end() :]


def _misspell(word: str, random: Random) -> str:
    # The first letter is hardly ever missed.
    place = random.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    ways = [before + after, before + letter + letter + after]
    if after and after[0] != letter:
        ways.append(before + after[0] + letter + after[1:])
    if keys := _NEAR_KEYS.get(letter):
        ways.append(before + random.choice(keys) + after)
    return random.choice(ways)


def _lose_final_mark(text: str, _: Random) -> str:
    return text.rstrip(_FINAL_MARKS) or text


def _title_case(text: str, _: Random) -> str:
    # `str.title` would write "L'Été" and "Don'T" alike.
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


_NOISE: dict[NoiseKind, Callable[[str, Random], str]] = {
    "lose_accents": _lose_accents,
    "typo": _typo,
    "lose_final_mark": _lose_final_mark,
    "lowercase": lambda text, _: text.lower(),
    "uppercase": lambda text, _: text.upper(),
    "title_case": _title_case,
}
