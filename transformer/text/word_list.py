"""The words of a training text, by which one that it never had is noticed.

A word is a run of letters with their marks: apostrophes, hyphens and signs part words ("l'ami" has
two), so that a known word is known in every company. What holds digits ("5h") is no word. Case
doesn't matter. Text in scripts without spaces between words (Chinese, Japanese, Thai) has no words
here.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import pre_tokenizers

from transformer.text.scripts import SPACED_OR_DIGIT

# The list's name in a translator's folder: UTF-8, a word a line.
WORDS = "words.txt"
# Rarer words are left out: a list of this many takes about 2 MB.
MAX_WORDS = 200_000
# So is what a training text has but once: often a typing mistake, and nothing that a model knows.
MIN_COUNT = 2
_RUNS: Any = pre_tokenizers.Split(tokenizers.Regex(f"{SPACED_OR_DIGIT}+"), "removed", invert=True)
# What mostly stands at a word's edges: without it most words are looked up as they come.
_EDGES = '.,;:!?…"«»()'


def most_frequent_words(
    texts: Iterable[str], limit: int = MAX_WORDS, min_count: int = MIN_COUNT
) -> list[str]:
    """The lower-case words of normalised texts, at most `limit`: the most frequent first.

    Words that occur less often than `min_count` are left out.
    """
    # A word never holds a space, so each of the strings between spaces is cut up once.
    strings = Counter(string for text in texts for string in text.split(" "))
    counts: Counter[str] = Counter()
    for string, count in strings.items():
        for word in _split(string):
            counts[word.lower()] += count
    kept = [word for word, count in counts.items() if count >= min_count]
    return sorted(kept, key=lambda word: (-counts[word], word))[:limit]


def write_words(path: Path, words: Sequence[str]) -> None:
    """Writes a word a line."""
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")


class WordList:
    """The words that a training text had. Immutable; safe to share."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)

    @classmethod
    def load(cls, path: Path) -> "WordList":
        """Reads what `write_words` wrote."""
        return cls(path.read_text(encoding="utf-8").split())

    def missing(self, text: str) -> list[str]:
        """The words of a normalised text that are not in the list, each once, as they stand."""
        found: dict[str, str] = {}
        for string in text.split(" "):
            if string.lower().strip(_EDGES) not in self._words:  # else it is one word, and known
                for word in _split(string):
                    if word.lower() not in self._words:
                        found.setdefault(word.lower(), word)
        return list(found.values())


def _split(string: str) -> list[str]:
    runs = [run for run, _ in _RUNS.pre_tokenize_str(string)]
    return [run for run in runs if not any(map(str.isnumeric, run))]
