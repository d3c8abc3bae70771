"""Sentences aligned by hand, and how far an aligner is from them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.text.alignment import Alignment, split_words

FILE = Path(__file__).with_name("alignments.txt")
Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class AlignedPair:
    """A sentence and its translation with links between their words, from 0."""

    source: str
    target: str
    sure: Links
    possible: Links  # the sure ones among them


@dataclass(frozen=True)
class AlignmentScore:
    """Och and Ney 2003: `error` is the alignment error rate, lower is better."""

    precision: float
    recall: float
    error: float


def read_gold(path: Path = FILE) -> list[AlignedPair]:
    """Reads pairs as the head of the file tells.

    Raises:
        ValueError: a line has another form, or its words are not those that an aligner sees.
    """
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            continue
        left, _, right = line.partition(" | ")
        words, others = [], right.split(" ")
        sure, possible = set(), set()
        for place, part in enumerate(left.split(" ")):
            word, _, places = part.rpartition("/")
            words.append(word)
            for one in filter(None, places.split(",")):
                link = (place, int(one.removeprefix("~")) - 1)
                possible.add(link)
                if not one.startswith("~"):
                    sure.add(link)
        pair = AlignedPair(_join(words), _join(others), frozenset(sure), frozenset(possible))
        for text, expected in ((pair.source, words), (pair.target, others)):
            found = [text[begin:end] for begin, end in split_words(text)]
            if found != expected:
                raise ValueError(f"{path.name}, line {number}: {expected} is {found} to it")
        if any(not 0 <= j < len(others) for _, j in possible):
            raise ValueError(f"{path.name}, line {number}: a place beyond the last English word")
        pairs.append(pair)
    return pairs


def score_aligner(
    align: Callable[[str, str], Alignment], pairs: Sequence[AlignedPair]
) -> AlignmentScore:
    """Over all pairs together."""
    num_links = num_sure_found = num_possible_found = num_sure = 0
    for pair in pairs:
        links = set(align(pair.source, pair.target).links)
        num_links += len(links)
        num_sure += len(pair.sure)
        num_sure_found += len(links & pair.sure)
        num_possible_found += len(links & pair.possible)
    return AlignmentScore(
        num_possible_found / max(num_links, 1),
        num_sure_found / max(num_sure, 1),
        1 - (num_sure_found + num_possible_found) / max(num_links + num_sure, 1),
    )


def _join(words: Sequence[str]) -> str:
    text = " ".join(words).replace(" - ", "-").replace("' ", "'")
    return re.sub(r" (?=[.,])", "", text)
