"""Filters for training pairs: each keeps a pair, or drops it with a reason."""

from collections.abc import Callable, Iterable, Sequence

from transformer.text.clean_config import CleanConfig
from transformer.text.corpus import Pair
from transformer.text.hashing import hash_sentence
from transformer.text.language_filter import OTHER_LANGUAGE, OtherLanguage
from transformer.text.noise_filters import (
    DIFFERENT_DIGITS,
    DIFFERENT_PLACEHOLDERS,
    FEW_LETTERS,
    LONG_WORD,
    REPETITION,
    DifferentDigits,
    FewLetters,
    LongWord,
    Repetition,
    different_placeholders,
)
from transformer.text.scoring import LOW_SCORE

# Every reason, in the order in which they are looked for: a pair is told by its first.
EMPTY = "empty"
SENTENCE_COUNT = "sentence_count"
TOO_LONG = "too_long"
LENGTH_RATIO = "length_ratio"
COPY = "copy"
LEAK = "leak"
DUPLICATE = "duplicate"
REASONS = (
    EMPTY,
    SENTENCE_COUNT,
    TOO_LONG,
    LENGTH_RATIO,
    COPY,
    LEAK,
    FEW_LETTERS,
    LONG_WORD,
    REPETITION,
    DIFFERENT_DIGITS,
    DIFFERENT_PLACEHOLDERS,
    OTHER_LANGUAGE,
    LOW_SCORE,
    DUPLICATE,
)

# None keeps the (normalised) pair; a reason drops it.
Filter = Callable[[Pair], str | None]


def make_filters(
    config: CleanConfig, held_out: Iterable[Pair], languages: tuple[str, str] | None = None
) -> list[Filter]:
    """The filters that a config asks for, in order, but for scores and duplicates.

    Each judges a pair by itself; scores come for many at a time (`transformer.text.scoring`), and
    whether a pair was kept before takes the whole corpus (`transformer.text.duplicates`).

    Args:
        config: the section `clean`.
        held_out: the normalised pairs of the validation and test parts.
        languages: codes of the source's and the target's; needed where the config asks for them.

    Raises:
        ValueError: the languages can't be told.
    """
    measure = len if config.length_unit == "character" else count_words
    filters: list[Filter] = [empty]
    if config.max_length is not None:
        filters.append(TooLong(config.max_length, measure))
    if config.max_length_ratio is not None:
        filters.append(LengthRatio(config.max_length_ratio, measure))
    if config.drop_copies:
        filters.append(copy)
    if config.drop_leaks:
        filters.append(Leak(held_out))
    if config.min_letter_share is not None:
        filters.append(FewLetters(config.min_letter_share))
    if config.max_word_length is not None:
        filters.append(LongWord(config.max_word_length))
    if config.max_repetitions is not None:
        filters.append(Repetition(config.max_repetitions))
    if config.min_digit_overlap is not None:
        filters.append(DifferentDigits(config.min_digit_overlap))
    if config.drop_different_placeholders:
        filters.append(different_placeholders)
    if config.min_language_probability is not None:
        assert languages is not None, "a config that asks for languages comes with them"
        filters.append(OtherLanguage(languages, config.min_language_probability))
    return filters


def list_limits(config: CleanConfig) -> dict[str, float | None]:
    """The limit of each reason that has one; None where nothing is dropped for it."""
    return {
        TOO_LONG: config.max_length,
        LENGTH_RATIO: config.max_length_ratio,
        FEW_LETTERS: config.min_letter_share,
        LONG_WORD: config.max_word_length,
        REPETITION: config.max_repetitions,
        DIFFERENT_DIGITS: config.min_digit_overlap,
        OTHER_LANGUAGE: config.min_language_probability,
        LOW_SCORE: config.score.min_score if config.score else None,
    }


def judge(pair: Pair, filters: Sequence[Filter]) -> str | None:
    """The first reason that a filter has against the pair; None if all keep it."""
    return next((reason for keep in filters if (reason := keep(pair)) is not None), None)


def count_words(text: str) -> int:
    """Words between spaces."""
    return len(text.split())


def empty(pair: Pair) -> str | None:
    """Drops a pair with nothing on a side."""
    return None if pair[0] and pair[1] else EMPTY


def copy(pair: Pair) -> str | None:
    """Drops a pair whose target is its source."""
    return COPY if pair[0] == pair[1] else None


class TooLong:
    """Drops a pair with a side of more than `limit` units."""

    def __init__(self, limit: int, measure: Callable[[str], int]) -> None:
        self._limit = limit
        self._measure = measure

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair."""
        return TOO_LONG if max(map(self._measure, pair)) > self._limit else None


class LengthRatio:
    """Drops a pair with a side more than `limit` times as long as the other."""

    def __init__(self, limit: float, measure: Callable[[str], int]) -> None:
        self._limit = limit
        self._measure = measure

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair; neither side is empty."""
        shorter, longer = sorted(map(self._measure, pair))
        return LENGTH_RATIO if longer > self._limit * shorter else None


class Leak:
    """Drops a pair whose source or target stands on that side of a held-out part.

    Sides, not pairs: a known source with another translation would still give the answer away.
    """

    def __init__(self, held_out: Iterable[Pair]) -> None:
        self._known: tuple[set[int], set[int]] = (set(), set())
        for pair in held_out:
            for known, sentence in zip(self._known, pair, strict=True):
                known.add(hash_sentence(sentence))

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair."""
        leaks = (
            hash_sentence(text) in known for text, known in zip(pair, self._known, strict=True)
        )
        return LEAK if any(leaks) else None
