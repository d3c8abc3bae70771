"""Which words of a translation belong to which words of its source.

A table of the training text's tokens tells how well two tokens agree: p(t | s) p(s | t), each by
IBM Model 1 (`transformer.text.lexicon`), so that a frequent token that stands beside everything
agrees with nothing (Liang et al. 2006, "Alignment by Agreement"). Words are linked where each is
the other's best, then what is left likewise (itermax, Sabet et al. 2020, arXiv:2004.08728).
"""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray

from transformer.text.casing import ALL_CAPITALS, CAPITAL, is_marked, mark_case
from transformer.text.lexicon import Lexicon, fit_lexicon
from transformer.text.pairs import PairDataset
from transformer.text.tokenizer import Tokenizer, TokenizerPair

# The table's name in a translator's folder.
TABLE = "alignment.npy"
NUM_PER_TOKEN = 8
# Less agreement than this is chance.
MIN_AGREEMENT = 1e-4
# A word's distance from its place, as a share of the sentence, costs this many nats.
DISTANCE_COST = 4.0
NUM_ROUNDS = 3
# What a word without a link joins at least.
MIN_LIKENESS = 1e-3
_DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"""[{_UNSPACED}]                          # scripts without spaces: a letter at a time
      | [^\W_{_UNSPACED}]+ (?: (?:[.,:][0-9]+)+
        | ['’] (?: (?:s|t|m|d|ll|re|ve)\b | ) )?   # don't is one word, l'ami two
      | \S""",
    re.VERBOSE | re.IGNORECASE,
)

Span = tuple[int, int]


class Alignment(NamedTuple):
    """Words as character spans [begin, end), and the pairs of them that belong together."""

    source: list[Span]
    target: list[Span]
    links: list[tuple[int, int]]


def split_words(text: str) -> list[Span]:
    """The spans of words and signs; white space lies between them."""
    return [match.span() for match in _WORD.finditer(text)]


def fit_table(
    there: Lexicon, pairs: PairDataset, source_vocab_size: int, target_vocab_size: int
) -> NDArray[Any]:
    """For each source token the target tokens that agree with it best, as the folder holds them.

    Args:
        there: the lexicon of `pairs`.
        pairs: token ids of the training text, end tokens included.
        source_vocab_size: of the ids of the source.
        target_vocab_size: likewise.

    Returns:
        [source_vocab_size, NUM_PER_TOKEN] of `target` (id) and `agreement`; 0 where there are
        fewer.
    """
    back = fit_lexicon(_Swapped(pairs), target_vocab_size, source_vocab_size)
    forward = there.source * target_vocab_size + there.target
    backward = back.target * target_vocab_size + back.source
    _, first, second = np.intersect1d(forward, backward, assume_unique=True, return_indices=True)
    agreement = there.probability[first] * back.probability[second]
    source, target = there.source[first], there.target[first]
    order = np.lexsort((-agreement, source))
    source, target, agreement = source[order], target[order], agreement[order]
    rank = np.arange(len(order)) - np.searchsorted(source, source)
    kept = (rank < NUM_PER_TOKEN) & (agreement >= MIN_AGREEMENT)
    id_type = "<u2" if target_vocab_size <= 1 << 16 else "<u4"
    table = np.zeros(
        (source_vocab_size, NUM_PER_TOKEN), [("target", id_type), ("agreement", "<f2")]
    )
    table["target"][source[kept], rank[kept]] = target[kept]
    table["agreement"][source[kept], rank[kept]] = agreement[kept]
    return table


class _Swapped(PairDataset):
    def __init__(self, pairs: PairDataset) -> None:
        self.source_ids, self.source_offsets = pairs.target_ids, pairs.target_offsets
        self.target_ids, self.target_offsets = pairs.source_ids, pairs.source_offsets


class Aligner:
    """Aligns words of two texts. Immutable; safe to share.

    Args:
        tokenizers: those that the table's ids are of.
        table: as `fit_table` makes it; None: words belong together if they are spelt alike or
            stand in the same place.
    """

    def __init__(self, tokenizers: TokenizerPair, table: NDArray[Any] | None = None) -> None:
        self._source, self._target = _Splitter(tokenizers.source), _Splitter(tokenizers.target)
        self._agreement: dict[int, dict[int, float]] = {}
        if table is not None:
            for id, row in enumerate(table.tolist()):
                self._agreement[id] = {target: value for target, value in row if value}

    @classmethod
    def load(cls, tokenizers: TokenizerPair, path: Path | None) -> "Aligner":
        """Reads a table that `numpy.save` wrote; None: there is none."""
        return cls(tokenizers, None if path is None else np.load(path, allow_pickle=False))

    def align(self, source: str, target: str) -> Alignment:
        """Links the words of a sentence and of its translation; each word may have none."""
        source_words, target_words = split_words(source), split_words(target)
        source_ids = self._source.split(source, source_words)
        target_ids = self._target.split(target, target_words)
        if not source_words or not target_words:
            return Alignment(source_words, target_words, [])
        likeness = np.zeros((len(source_words), len(target_words)))
        sources = [source[begin:end].casefold() for begin, end in source_words]
        targets = [target[begin:end].casefold() for begin, end in target_words]
        for i, word in enumerate(sources):
            for j, other in enumerate(targets):
                found = 1.0 if word == other else self._compare(source_ids[i], target_ids[j])
                if not self._agreement and word[0].isalnum() == other[0].isalnum():
                    found = max(found, MIN_AGREEMENT)
                if found:
                    distance = abs((i + 0.5) / len(sources) - (j + 0.5) / len(targets))
                    likeness[i, j] = found * math.exp(-DISTANCE_COST * distance)
        return Alignment(source_words, target_words, _link(likeness))

    def _compare(self, source: list[int], target: list[int]) -> float:
        if not source or not target:
            return 0.0
        table = self._agreement
        rows = [table.get(id, {}) for id in source]
        by_target = [max(row.get(id, 0.0) for row in rows) for id in target]
        by_source = [max(row.get(id, 0.0) for id in target) for row in rows]
        return (sum(by_target) / len(target)) * (sum(by_source) / len(source))


def _link(likeness: NDArray[np.float64]) -> list[tuple[int, int]]:
    links: set[tuple[int, int]] = set()
    left = likeness.copy()
    for _ in range(NUM_ROUNDS):
        best = (left == left.max(1, keepdims=True)) & (left == left.max(0, keepdims=True))
        new = [(int(i), int(j)) for i, j in np.argwhere(best & (left > 0))]
        links.update(new)
        for i, j in new:
            left[i, :] = left[:, j] = 0
        if not left.any():
            break
    _link_left_over(likeness, links)
    return sorted(links)


def _link_left_over(likeness: NDArray[np.float64], links: set[tuple[int, int]]) -> None:
    # Words without a link join their best, if it is likely; what is then left on both sides joins
    # where it stands at a corner of a link (after grow-diag, Koehn et al. 2003).
    sources, targets = ({link[side] for link in links} for side in (0, 1))
    num_sources, num_targets = likeness.shape
    for i in set(range(num_sources)) - sources:
        if likeness[i].max(initial=0) > MIN_LIKENESS:
            links.add((i, int(likeness[i].argmax())))
    for j in set(range(num_targets)) - targets:
        if likeness[:, j].max(initial=0) > MIN_LIKENESS:
            links.add((int(likeness[:, j].argmax()), j))
    sources, targets = ({link[side] for link in links} for side in (0, 1))
    todo = sorted(links)
    while todo:
        i, j = todo.pop(0)
        for step in _DIAGONALS:
            near = i + step[0], j + step[1]
            is_there = 0 <= near[0] < num_sources and 0 <= near[1] < num_targets
            if is_there and near[0] not in sources and near[1] not in targets:
                links.add(near)
                sources.add(near[0])
                targets.add(near[1])
                todo.append(near)


class _Splitter:
    """The ids of each word of a text: what `Tokenizer.encode` gives, by where they stand."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._fast: Any = tokenizers.Tokenizer.from_str(tokenizer.json)
        self._fast.no_truncation()
        self._fast.no_padding()
        self._fast.encode_special_tokens = True
        self._marks_case = is_marked(tokenizer.json)

    def split(self, text: str, words: list[Span]) -> list[list[int]]:
        plain = text.replace("’", "'")
        marked = mark_case(plain) if self._marks_case else plain
        places = _find_places(marked, plain)
        word_at = np.full(len(text) + 1, -1)
        for index, (begin, end) in enumerate(words):
            word_at[begin:end] = index
        found: list[list[int]] = [[] for _ in words]
        encoding = self._fast.encode(marked, add_special_tokens=False)
        for id, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if marked[begin:end].strip(f"{CAPITAL}{ALL_CAPITALS} "):
                for index in sorted({int(word_at[place]) for place in places[begin:end]} - {-1}):
                    found[index].append(id)
        return found


def _find_places(marked: str, text: str) -> list[int]:
    # For each character of the marked text, where it stands in the text.
    places, place = [], 0
    for character in marked:
        places.append(place)
        if place < len(text) and character in (text[place], text[place].lower()):
            place += 1
    return places
