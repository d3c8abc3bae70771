"""Plain text as lines, each of which has its own translations."""

import re
from collections.abc import Callable, Iterator

from transformer.text.sentences import split_sentences

_BREAKS = re.compile(r"(\r\n|\r|\n)")
# Where a text begins, and a string of it.
Part = tuple[int, str]


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text, and what stands around them: indentation and line breaks.

    Returns:
        n lines without space at their edges, and the n + 1 strings before, between and after them.
    """
    lines: list[str] = []
    around = [""]
    for part in _BREAKS.split(text):
        line = part.strip()
        if not line:
            around[-1] += part
            continue
        before, after = part.split(line, 1)
        around[-1] += before
        lines.append(line)
        around.append(after)
    return lines, around


def pair_sentences(source: str, target: str) -> Iterator[tuple[Part, Part]]:
    """The sentences of a text and of its translation that belong together, with their places.

    Lines are taken one by one, and within them sentences, where both texts have as many.
    """
    for line, translation in _pair((0, source), (0, target), _BREAKS.split):
        yield from _pair(line, translation, split_sentences)


def _pair(
    source: Part, target: Part, split: Callable[[str], list[str]]
) -> Iterator[tuple[Part, Part]]:
    parts = _place(source, split), _place(target, split)
    return zip(*parts, strict=True) if len(parts[0]) == len(parts[1]) else iter([(source, target)])


def _place(whole: Part, split: Callable[[str], list[str]]) -> list[Part]:
    (start, text), parts, end = whole, [], 0
    for part in split(text):
        begin = text.index(part, end)
        end = begin + len(part)
        parts.append((start + begin, part))
    return parts
