r"""Inline casing: a capital letter is written as a mark and its small letter.

So a word has the same sub-words in any case (Bérard et al. 2019, arXiv:1907.06488).
There the mark follows the word; here it stands before it, and before its space.

The marks are U+000E (the next letter is a capital) and U+000F (all letters up to the next other
character are). Normalization removes both from every text, so they can't stand there by themselves,
and in a vocabulary of bytes their pieces are there already, without another use.
"""

import re

CAPITAL = "\x0e"
ALL_CAPITALS = "\x0f"
# Both, as a tokenizer's file holds them in its patterns.
MARKS_PATTERN = r"[\x0E\x0F]"

# Latin, Greek, Cyrillic and Armenian: blocks whose pairs of letters Unicode changes no more, so
# that every Python marks alike. What has no small letter of its own there stays, such as "ẞ".
_BLOCKS = (range(0x250), range(0x370, 0x590), range(0x1E00, 0x2000))
_SMALL = {
    letter: letter.lower()
    for letter in (chr(code) for block in _BLOCKS for code in block)
    if letter.lower() != letter == letter.lower().upper()
}
_TO_SMALL = str.maketrans(_SMALL)
_TO_CAPITAL = str.maketrans({small: capital for capital, small in _SMALL.items()})
_ANY_CAPITAL = f"[{''.join(_SMALL)}]"
_ANY_SMALL = f"[{''.join(_SMALL.values())}]"
# In "HTMLPage" the P belongs to the small letters.
_CAPITALS = re.compile(f"{_ANY_CAPITAL}(?:{_ANY_CAPITAL}+(?!{_ANY_SMALL}))?")
_MARKED = re.compile(f"([{CAPITAL}{ALL_CAPITALS}])( ?)({_ANY_SMALL}*)")


def mark_case(text: str) -> str:
    """Writes capitals as marks and small letters: "Ada, NASA" as "↑ ada,⇑ nasa".

    A mark stands before its word's space. The first word gets a space if it gets a mark: it has
    one inside of a text too. Letters outside of Latin, Greek, Cyrillic and Armenian stay.
    """
    marked = _CAPITALS.sub(_mark, " " + text)
    for mark in (CAPITAL, ALL_CAPITALS):
        marked = marked.replace(" " + mark, mark + " ")
    return marked.removeprefix(" ")


def restore_case(text: str) -> str:
    """The text that `mark_case` was given. Marks without a small letter after them go."""
    restored = _MARKED.sub(_restore, text)
    return restored.removeprefix(" ") if text.startswith((CAPITAL, ALL_CAPITALS)) else restored


def is_marked(tokenizer_json: str) -> bool:
    """Whether the tokenizer of a `tokenizer.json` was fitted on marked text."""
    return MARKS_PATTERN.replace("\\", "\\\\") in tokenizer_json


def _mark(found: re.Match[str]) -> str:
    letters = found[0]
    return (CAPITAL if len(letters) == 1 else ALL_CAPITALS) + letters.translate(_TO_SMALL)


def _restore(found: re.Match[str]) -> str:
    mark, space, letters = found.groups()
    size = 1 if mark == CAPITAL else len(letters)
    return space + letters[:size].translate(_TO_CAPITAL) + letters[size:]
