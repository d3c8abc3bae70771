"""Filters for noisy text: scraped, generated, misaligned, or never a sentence."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from transformer.text.corpus import Pair
from transformer.text.markup.placeholders import find_placeholders

FEW_LETTERS = "few_letters"
LONG_WORD = "long_word"
REPETITION = "repetition"
DIFFERENT_DIGITS = "different_digits"
DIFFERENT_PLACEHOLDERS = "different_placeholders"

# Of what repeats, in characters; shorter repetitions, such as "......", are writing.
_SHORTEST_UNIT, _LONGEST_UNIT = 3, 100
_DIGIT = re.compile(r"\d")
# printf's, which one side may do without.
_ARGUMENT_NUMBER = re.compile(r"%\d+\$")
# What begins every placeholder that `_variable` knows.
_SIGNS = re.compile(r"[%{<]")
# The name of a tag, not its attributes; of braces what stands before the first comma, since ICU's
# plurals go on with text; of % all but the number of an argument, which other orders need.
_TAG = re.compile(r"</?[\w:.-]+")
_BRACES = re.compile(r"[$#%]?\{[^,}]*")
_PERCENT = re.compile(r"%(?:\d+\$)?([^%{].*)")


class FewLetters:
    """Drops a pair with a side of which less than `limit` of what is no space are letters."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair; neither side is empty."""
        return FEW_LETTERS if min(map(letter_share, pair)) < self._limit else None


class LongWord:
    """Drops a pair with a word, whatever stands between spaces, of more than `limit` characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair."""
        words = (word for side in pair for word in side.split())
        return LONG_WORD if max(map(len, words), default=0) > self._limit else None


class Repetition:
    """Drops a pair with a side that says something more than `limit` times again in a row.

    Something is 3 to 100 characters; spaces may stand between.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair, whose spaces are single ones."""
        return REPETITION if any(map(self._repeats, pair)) else None

    def _repeats(self, text: str) -> bool:
        # What is said again begins with the same characters: those that come often enough are
        # tried. An expression with a back reference finds the same, in ten times the time.
        places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, start in enumerate(zip(text, text[1:], text[2:], strict=False)):
            places[start].append(place)
        return any(
            self._repeats_at(text, first, second)
            for start, found in places.items()
            if len(found) > self._limit + 1 and start[0] != " "
            for number, first in enumerate(found)
            for second in _up_to(first + _LONGEST_UNIT + 1, found, number + 1)
        )

    def _repeats_at(self, text: str, first: int, second: int) -> bool:
        # Whether what stands between the two places is said often enough from the second on. The
        # space at its end is none of it, unless it would be too short.
        unit = text[first:second]
        bare = unit.rstrip(" ")
        unit = bare if len(bare) >= _SHORTEST_UNIT else unit
        if not _SHORTEST_UNIT <= len(unit) <= _LONGEST_UNIT:
            return False
        for _ in range(self._limit + 1):
            if not text.startswith(unit, second):
                return False
            second += len(unit)
            while text.startswith(" ", second):
                second += 1
        return True


class DifferentDigits:
    """Drops a pair whose sides share less than `limit` of their digits, zeros aside.

    The share is Dice's: twice the digits in common over all of both sides. Their order is no
    matter, nor how thousands are parted, nor the script, nor the numbers of printf's arguments.
    Pairs without digits are kept.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair."""
        source, target = map(_count_digits, pair)
        common, total = (source & target).total(), source.total() + target.total()
        return DIFFERENT_DIGITS if 2 * common < self._limit * total else None


def different_placeholders(pair: Pair) -> str | None:
    """Drops a pair whose sides don't have the same variables and tags, each as often.

    Compared are names: attributes of tags, the text in ICU's plurals, the numbers of printf's
    arguments, and case may differ. Addresses, code, emoji and entities are left alone.
    """
    source, target = map(_count_placeholders, pair)
    return None if source == target else DIFFERENT_PLACEHOLDERS


def _up_to(last: int, places: Sequence[int], number: int) -> Iterator[int]:
    # From a place on, by its number: a slice would copy all that follow.
    while number < len(places) and places[number] <= last:
        yield places[number]
        number += 1


def letter_share(text: str) -> float:
    """Letters, and the marks that spell vowels, over all characters but spaces, of a full text."""
    letters = sum(map(str.isalpha, text))
    if not text.isascii():
        letters += sum(unicodedata.category(character)[0] == "M" for character in text)
    return letters / (len(text) - text.count(" "))


def _count_digits(text: str) -> Counter[int]:
    counts = Counter(map(unicodedata.digit, _DIGIT.findall(_ARGUMENT_NUMBER.sub("%", text))))
    del counts[0]
    return counts


def _count_placeholders(text: str) -> Counter[str]:
    if not _SIGNS.search(text):
        return Counter()
    spans = (text[found.begin : found.end].lower() for found in find_placeholders(text))
    return Counter(name for span in spans if (name := _variable(span)) is not None)


def _variable(span: str) -> str | None:
    for pattern in (_TAG, _BRACES):
        if found := pattern.match(span):
            return found[0]
    found = _PERCENT.match(span)
    return f"%{found[1]}" if found else None
