"""Expand the grammar to distinct sentence pairs, held-out combinations kept apart."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random

from transformer.text.phrasebook.lexicon import Lexicon, load_lexicon
from transformer.text.phrasebook.patterns import Derivation, Template, load_patterns
from transformer.text.phrasebook.tables import read_table

PARTS = ("train", "valid", "test")
# Share of the pairs that each held-out part gets, and of the combinations reserved for it.
HELD_OUT_SHARE = 0.04
_RESERVED_SHARE = 0.025
# Draws in a row with nothing to keep before a template counts as exhausted; once train is complete
# most draws belong there, so that the rest takes longer.
_PATIENCE = 60
_HELD_OUT_PATIENCE = 600


@dataclass(frozen=True)
class Grammar:
    """The whole phrasebook: words, templates, and fixed phrases."""

    lexicon: Lexicon
    templates: tuple[Template, ...]
    idioms: tuple[Derivation, ...]


def load_grammar(folder: Path) -> Grammar:
    """Read the folder; raises ValueError naming file and line, and what to do."""
    lexicon = load_lexicon(folder)
    idioms = tuple(
        Derivation(row["fr"], row["en"], "idiom", ())
        for row in read_table(folder / "idioms.txt", ("fr", "en"))
    )
    return Grammar(lexicon, tuple(load_patterns(folder, lexicon)), idioms)


def combinations_of(words: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of content words in a sentence."""
    return list(combinations(sorted(words), 2))


class Splitter:
    """Says which part a derivation belongs to, by the combinations that the seed reserves."""

    def __init__(self, seed: int) -> None:
        self._salt = f"{seed}".encode()
        self._known: dict[tuple[str, str], int] = {}

    def part(self, words: Sequence[str]) -> int:
        """Index into PARTS: test if a combination is reserved for it, then valid, then train."""
        return max(map(self._reserved, combinations_of(words)), default=0)

    def _reserved(self, pair: tuple[str, str]) -> int:
        part = self._known.get(pair)
        if part is None:
            text = "\x1f".join(pair).encode()
            digest = hashlib.blake2b(text, digest_size=8, key=self._salt).digest()
            fraction = int.from_bytes(digest, "big") / 2**64
            part = 2 if fraction < _RESERVED_SHARE else 1 if fraction < 2 * _RESERVED_SHARE else 0
            self._known[pair] = part
        return part


_WORD = re.compile(r"\w+(?:['-]\w+)*")


def words_of(text: str) -> set[str]:
    """The lower-cased words of a sentence, what a hyphen or an apostrophe joins as one."""
    return set(_WORD.findall(text.lower()))


@dataclass
class _Source:
    """One template with its own random stream, until it gives nothing new for long."""

    template: Template
    rng: Random
    misses: int = 0  # draws in a row that gave nothing to keep


class _Harvest:
    """The sentences kept so far, by part, up to what each part may hold."""

    def __init__(self, idioms: Sequence[Derivation], limits: Sequence[int], seed: int) -> None:
        self.parts: list[list[Derivation]] = [list(idioms), [], []]
        self._limits = limits
        self._splitter = Splitter(seed)
        self._counts: dict[str, int] = {}
        self._sources = {idiom.source for idiom in idioms}
        self._targets: set[str] = set()  # of train, and of what is held out
        self._french: set[str] = set()  # words of train
        self._english: set[str] = set()
        self._train_closed = False

    def draw(self, source: _Source) -> None:
        """Draw once from `source`; what is new, and fits a part that has room, is kept."""
        source.misses += 1
        filling = source.template.fill(source.rng, self._counts)
        if filling is None:
            return
        part = self._splitter.part(filling.keys)
        if len(self.parts[part]) >= self._limits[part]:
            return
        pair = source.template.say(filling)
        if pair.source in self._sources or (self._train_closed and not self._fits(pair)):
            return
        source.misses = 0
        self._sources.add(pair.source)
        self.parts[part].append(pair)
        for word in pair.words:
            self._counts[word] = self._counts.get(word, 0) + 1

    def fill_train(self, sources: Sequence[_Source]) -> None:
        """Draw until train is full; what is reserved for the other parts is kept for them."""
        while (missing := self._limits[0] - len(self.parts[0])) > 0:
            live = [source for source in sources if source.misses <= _PATIENCE]
            if not live:
                return
            total = sum(source.template.weight for source in live)
            for source in live:
                for _ in range(round(missing * source.template.weight / total) + 1):
                    self.draw(source)

    def fill_held_out(self, sources: Sequence[_Source], rng: Random) -> None:
        """With train complete, keep what fits for valid and test, and draw what is missing."""
        self._train_closed = True
        for pair in self.parts[0]:
            self._targets.add(pair.target)
            self._french |= words_of(pair.source)
            self._english |= words_of(pair.target)
        for part, limit in zip(self.parts[1:], self._limits[1:], strict=True):
            rng.shuffle(part)
            part[:] = [pair for pair in part if self._fits(pair)][:limit]
        for source in sources:
            source.misses = 0
        while any(len(part) < limit for part, limit in zip(self.parts, self._limits, strict=True)):
            live = [source for source in sources if source.misses <= _HELD_OUT_PATIENCE]
            if not live:
                return
            for source in live:
                self.draw(source)

    def _fits(self, pair: Derivation) -> bool:
        """Whether train knows every word, and nobody the English; notes the English if so."""
        if (
            pair.target in self._targets
            or not words_of(pair.source) <= self._french
            or not words_of(pair.target) <= self._english
        ):
            return False
        self._targets.add(pair.target)
        return True


def derive(folder: Path, num_pairs: int, seed: int) -> dict[str, list[Derivation]]:
    """As `expand`, with the pattern and the content words of each sentence."""
    if num_pairs < 1:
        raise ValueError(f"num_pairs = {num_pairs} must be at least 1")
    grammar = load_grammar(folder)
    num_held_out = round(num_pairs * HELD_OUT_SHARE)
    num_train = num_pairs - 2 * num_held_out
    harvest = _Harvest(grammar.idioms[:num_train], (num_train, num_held_out, num_held_out), seed)
    sources = [
        _Source(template, Random(f"{seed}:{template.name}")) for template in grammar.templates
    ]
    rng = Random(f"{seed}:order")
    harvest.fill_train(sources)
    harvest.fill_held_out(sources, rng)
    for part in harvest.parts:
        rng.shuffle(part)
    chosen = dict(zip(PARTS, harvest.parts, strict=True))
    total = sum(len(pairs) for pairs in chosen.values())
    if total < num_pairs:
        raise ValueError(
            f"num_pairs = {num_pairs}, but this grammar gives only {total} pairs with seed {seed} "
            f"({', '.join(f'{len(pairs)} {name}' for name, pairs in chosen.items())}); "
            f"ask for fewer, or add words and patterns to {folder}"
        )
    return chosen


def expand(folder: Path, num_pairs: int, seed: int) -> dict[str, list[tuple[str, str]]]:
    """Expand the grammar in `folder` to `num_pairs` distinct (French, English) pairs.

    Returns lists under "train", "valid" and "test". Every sentence of valid and test holds at
    least one combination of two content words that train never shows, while each of its words
    occurs in train; no sentence of either language is in two parts. The same folder, number and
    seed give the same lists on every machine.

    Raises ValueError naming file and line, and what to do, for a malformed grammar, and one that
    says how many pairs there are when the grammar cannot give `num_pairs`.
    """
    return {
        name: [(pair.source, pair.target) for pair in pairs]
        for name, pairs in derive(folder, num_pairs, seed).items()
    }
