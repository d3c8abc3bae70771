"""Sentences with tags and placeholders put in by chance, so that what was put in is known."""

import html
import re
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from xml.parsers import expat

from transformer.text.alignment import split_words

_TAGS = (("<b>", "</b>"), ("<i>", "</i>"), ("<em>", "</em>"), ('<span class="x">', "</span>"))
_FOR_WORDS = ("{name}", "{{user.name}}", "%s", "%(name)s", "%1$s", "${name}", "`name`")
_FOR_NUMBERS = ("%d", "{count}", "%(n)d")
_SIGNS = ("😀", "👍🏽", "<wbr>", '<img src="a.png">', "❤️")
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Marked:
    """A sentence with markup. `words` tells what each placeholder stands for."""

    html: str
    tags: list[str]
    words: dict[str, str] = field(default_factory=dict)
    signs: list[str] = field(default_factory=list)

    @property
    def num_placeholders(self) -> int:
        """Of both kinds."""
        return len(self.words) + len(self.signs)

    def count_kept(self, translation: str) -> int:
        """Placeholders that stand in a translation exactly once."""
        return sum(translation.count(one) == 1 for one in [*self.words, *self.signs])

    def is_well_formed(self, translation: str) -> bool:
        """True: every tag is there once, and they nest."""
        if sorted(_TAG.findall(translation)) != sorted(self.tags):
            return False
        closed = re.sub(r"<(wbr|img)([^>]*)>", r"<\1\2/>", translation)
        try:
            expat.ParserCreate().Parse(f"<r>{closed}</r>".encode(), True)
        except expat.ExpatError:
            return False
        return True

    def plain(self, translation: str) -> str:
        """A translation without its markup, placeholders resolved."""
        for sign in self.signs:
            translation = translation.replace(sign, "")
        for placeholder, word in self.words.items():
            translation = translation.replace(placeholder, word)
        text = html.unescape(_TAG.sub("", translation))
        return re.sub(r" +(?=[.,?!])", "", re.sub(r"\s+", " ", text)).strip()


def mark_up(source: str, target: str, rng: Random) -> Marked:
    """Puts one to three tags into a sentence, a sign, and a placeholder where it has a word or
    number that its translation has too, so that either can be resolved.
    """
    words = [source[begin:end] for begin, end in split_words(source)]
    gaps = [source[end:begin] for (_, end), (begin, _) in _neighbors(split_words(source))]
    shared = [
        place
        for place, word in enumerate(words)
        if ((word[0].isupper() and place) or word.isdigit())
        and words.count(word) == 1
        and re.findall(r"\w+", target).count(word) == 1
    ]
    resolved: dict[str, str] = {}
    shown = [html.escape(word, quote=False) for word in words]
    if shared:
        place = rng.choice(shared)
        chosen = rng.choice(_FOR_NUMBERS if words[place].isdigit() else _FOR_WORDS)
        resolved[chosen] = words[place]
        shown[place] = chosen
    opened: list[list[str]] = [[] for _ in range(len(words) + 1)]
    closed: list[list[str]] = [[] for _ in range(len(words) + 1)]
    tags: list[str] = []
    spans: list[tuple[int, int]] = []
    for _ in range(rng.randint(1, 3)):
        begin = rng.randrange(len(words))
        end = rng.randint(begin + 1, min(len(words), begin + 4))
        if any(
            a < begin < b < end or begin < a < end < b or (a, b) == (begin, end) for a, b in spans
        ):
            continue
        spans.append((begin, end))
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        tag = rng.choice(_TAGS)
        opened[begin].append(tag[0])
        closed[end].insert(0, tag[1])
        tags += tag
    signs: list[str] = []
    if rng.random() < 0.5:
        sign = rng.choice(_SIGNS)
        signs.append(sign)
        tags += [sign] * sign.startswith("<")
        places = [place for place, gap in enumerate(gaps) if gap] or [len(words) - 1]
        shown[rng.choice(places)] += " " + sign
    parts = []
    for place, word in enumerate(shown):
        parts += [*opened[place], word, *closed[place + 1]]
        parts.append(gaps[place] if place < len(gaps) else "")
    return Marked("".join(parts), tags, resolved, signs)


def _neighbors(spans: list[tuple[int, int]]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return list(pairwise(spans))
