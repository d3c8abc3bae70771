"""Seeded noise on training sources: the forms in which people type."""

import re
import struct
import unicodedata
from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random

from transformer.text.clean_config import AugmentConfig
from transformer.text.corpus import Pair
from transformer.text.filters import Filter, judge
from transformer.text.normalize import normalize

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


class Augmenter:
    """Gives sources of training pairs noise, each kind of it by its share.

    The kinds are drawn independently of each other, by seed, line and sentence alone: neither
    order nor sharding of the pairs matters. Where several are drawn, one works on what the other
    left, so that of two cases the later one wins.

    Noise is put on the source as it came, whose capitals tell names, and normalised after that, so
    that training text holds nothing that normalisation takes from what is translated later. What
    makes no difference then, such as upper case where the source is lower-cased, is not counted.

    Filters judge what became of a pair, too. Where one objects, the pair stays clean: no noise
    makes an empty source, a copy of the target or, where `drop_leaks` holds, a source that stands
    in the validation or test part. Duplicates are judged on the clean text alone, so that noise
    does not decide which pairs are kept: a noisy source may equal another training source, as
    "ou" for "où" does when people type. The target is never touched.

    Args:
        config: the share of each kind.
        seed: of the draws.
        normalize_source: what is done to sources in the end.
        filters: those that hold for a single pair whatever came before it.
    """

    def __init__(
        self,
        config: AugmentConfig,
        seed: int,
        normalize_source: Callable[[str], str],
        filters: Sequence[Filter],
    ) -> None:
        self._seed = seed
        # A draw is a whole number below 2^64.
        self._limits = [int(getattr(config, kind) * 2**64) for kind in KINDS]
        self._normalize_source = normalize_source
        self._filters = filters

    def __call__(self, line: int, sentence: int, source: str, pair: Pair) -> tuple[Pair, int]:
        """One pair, with its noise if it has drawn any, and which kinds changed it.

        Args:
            line: of the raw training part.
            sentence: which of that line's, where it was cut into several.
            source: as it came.
            pair: the normalised pair, which the filters keep.

        Returns:
            The pair, and a number whose bit i stands for `KINDS[i]`; 0 where it is unchanged.
        """
        key = f"{self._seed} {line} {sentence}".encode()
        *draws, more = _DRAWS.unpack(blake2b(key, digest_size=_DRAWS.size).digest())
        drawn = [
            kind
            for kind, draw, limit in zip(KINDS, draws, self._limits, strict=True)
            if draw < limit
        ]
        if not drawn:
            return pair, 0
        text = normalize(source, lowercase=False, strip_punctuation=False, fold_typography=False)
        steps = [pair[0]]
        for kind in drawn:
            text = add_noise(kind, text, Random(more))
            steps.append(self._normalize_source(text))
        noisy = steps[-1], pair[1]
        if noisy == pair or judge(noisy, self._filters) is not None:
            return pair, 0
        changes = zip(drawn, steps, steps[1:], strict=False)
        return noisy, sum(1 << KINDS.index(k) for k, before, after in changes if before != after)


def add_noise(kind: str, text: str, random: Random) -> str:
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


_NOISE: dict[str, Callable[[str, Random], str]] = {
    "lose_accents": _lose_accents,
    "typo": _typo,
    "lose_final_mark": _lose_final_mark,
    "lowercase": lambda text, _: text.lower(),
    "uppercase": lambda text, _: text.upper(),
    "title_case": _title_case,
}
# In the order in which they work.
KINDS = tuple(_NOISE)
# A number for each kind, and one more for the typo.
_DRAWS = struct.Struct(f"<{len(KINDS) + 1}Q")
