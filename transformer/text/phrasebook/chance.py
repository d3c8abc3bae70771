"""Draw by chance: weighted things, made-up names of persons and towns, hours."""

from bisect import bisect
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import Generic, Protocol, TypeVar

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.words import Phrase

T = TypeVar("T")


class Word(Protocol):
    """What `Balance` draws."""

    @property
    def key(self) -> str:
        """Its name."""
        ...

    @property
    def weight(self) -> float:
        """How often it should come, beside others."""
        ...


W = TypeVar("W", bound=Word)
# What made-up names are built of: beginnings, vowels and ends of syllables of many languages.
_ONSETS = (
    *("b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "y"),
    *("z", "b", "d", "k", "l", "m", "n", "r", "s", "t", "ch", "br", "tr", "kr", "dj", "ng", "sh"),
    *("th", "gw", "mb", "", "qu", "cl", "pl", "gr", "fr", "bl", "dr", "gu", "mont", "saint", "ver"),
)
_VOWELS = (
    *("a", "e", "i", "o", "u", "a", "e", "i", "o", "a", "ou", "ai", "é", "oo", "ia", "y", "au"),
    *("eau", "eu", "oi", "an", "on", "in", "è", "ui", "ar", "er", "im", "or"),
)
_CODAS = (
    *("n", "l", "r", "s", "m", "k", "c", "t", "b", "x", "ng", "rt", "lt", "tz", "gne", "lle"),
    *("tte", "rd", "nt", "st", "z", "d", "ville"),
)
# How often a syllable ends in one: within a word, and at its end.
_CLOSED, _CLOSED_AT_END = 0.3, 0.6
# Short English words, which would not read as names.
_ENGLISH = frozenset(
    [
        "he",
        "she",
        "we",
        "you",
        "they",
        "it",
        "me",
        "us",
        "him",
        "her",
        "my",
        "our",
        "the",
        "and",
        "or",
        "no",
        "so",
        "to",
        "in",
        "on",
        "at",
        "of",
    ]
)
_HOURS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0)


class Weighted(Generic[T]):
    """Things to draw from, some more often than others."""

    def __init__(self, weighted: Iterable[tuple[T, float]]) -> None:
        pairs = tuple(weighted)
        self.items = tuple(item for item, _ in pairs)
        self._sums = list(accumulate(weight for _, weight in pairs))

    def draw(self, rng: Random) -> T:
        """One of the things."""
        return self.items[bisect(self._sums, rng.random() * self._sums[-1])]


class Balance:
    """Draws words evenly: of a few drawn at random, the one used least for its weight.

    What a sentence may be about follows from its verb and classes, which alone would leave many
    words out.

    Args:
        weights: of all words by their keys: how often each should come, beside others.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._uses: Counter[str] = Counter()

    def reset(self) -> None:
        """Forgets what was used."""
        self._uses.clear()

    def use(self, words: Iterable[str]) -> None:
        """Notes the keys of a sentence's words."""
        self._uses.update(words)

    def pick(self, rng: Random, items: Sequence[W], number: int = 2) -> W:
        """One of `items`, the least used of `number` drawn."""
        return self.least([pick(rng, items) for _ in range(number)])

    def least(self, drawn: Iterable[W]) -> W:
        """The least used of some words for its weight."""
        return min(drawn, key=lambda word: self._uses[word.key] / self._weights[word.key])


def pick(rng: Random, items: Sequence[T]) -> T:
    """One of `items`, each as often."""
    return items[int(rng.random() * len(items))]


def made_up_word(rng: Random, taken: Container[str]) -> str:
    """A name that no one has: pronounceable, capitalised, none of the words `taken`.

    A `*` stands before h and y, as before all words before which nothing elides.
    """
    word = ""
    while len(word) < 2 or word in taken or word in _ENGLISH:
        inner = "".join(_syllable(rng, _CLOSED) for _ in range(int(rng.random() * 3)))
        word = inner + _syllable(rng, _CLOSED_AT_END)
    return ("*" if word[0] in "hy" else "") + word.capitalize()


def _syllable(rng: Random, closed: float) -> str:
    coda = pick(rng, _CODAS) if rng.random() < closed else ""
    return pick(rng, _ONSETS) + pick(rng, _VOWELS) + coda


def made_up_city(rng: Random, taken: Container[str]) -> Phrase:
    """A town that is on no map: à Tombouctou; its name is none of the words `taken`."""
    name = made_up_word(rng, taken)
    return Phrase(
        name,
        {"": f"à {name}", "from": f"de {name}", "name": name},
        {"": f"in {name}", "to": f"to {name}", "from": f"from {name}", "name": name},
    )


def draw_clock(rng: Random) -> tuple[str, str]:
    """An hour of the day, in one of the ways that hours are written."""
    chance = rng.random()
    if chance < 0.5:
        hour, minute = pick(rng, _HOURS), pick(rng, (0, 0, 0, 15, 30, 45))
        return numbers.clock(hour, minute, "words")
    if chance < 0.75:
        return numbers.clock(1 + int(rng.random() * 12), 0, "mixed")
    minute = pick(rng, (0, 15, 30, 45, 5 * int(rng.random() * 12)))
    return numbers.clock(
        6 + int(rng.random() * 18), minute, "digits" if rng.random() < 0.75 else "spaced"
    )
