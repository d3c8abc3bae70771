"""A stretch of text that is translated as one, and what stands in it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from transformer.text.markup.placeholders import find_placeholders
from transformer.text.sentences import split_sentences

# Text as it is, and numbers of segments whose translation stands there.
Parts = tuple[str | int, ...]
# In a segment's plain text a placeholder is one character of private use.
FIRST_SLOT = 0xF0000
MAX_SLOTS = 0x10FFFD - FIRST_SLOT
# Tags within tags; deeper ones part the text around them.
MAX_DEPTH = 50
_EDGES = re.compile(r"(?s)(\s*)(.*?)(\s*)\Z")


class Mark(NamedTuple):
    """What is no text. A `break` is an empty tag at which a sentence ends."""

    kind: Literal["open", "close", "empty", "break", "float", "word", "number"]
    raw: Parts
    name: str = ""


@dataclass
class Node:
    """What stands in or around a segment's text: [begin, end) of its plain text."""

    begin: int
    end: int
    open: Parts
    close: Parts = ()
    children: list["Node"] = field(default_factory=list)
    # Of what is empty: whether white space stood at its sides.
    spaces: tuple[bool, bool] = (False, False)


class Slot(NamedTuple):
    """A placeholder that is a part of its sentence."""

    raw: Parts
    is_number: bool


@dataclass
class Segment:
    """Text with its marks. `raw` is the whole as it came, `escape` writes text into it."""

    plain: str
    nodes: list[Node]
    slots: list[Slot]
    breaks: list[int]
    raw: Parts
    escape: Callable[[str], str]

    def sentences(self) -> Iterator[tuple[int, int]]:
        """The spans of the sentences in the plain text, in order."""
        for begin, end in zip([0, *self.breaks], [*self.breaks, len(self.plain)], strict=True):
            for sentence in split_sentences(self.plain[begin:end]):
                begin = self.plain.index(sentence, begin)
                yield begin, begin + len(sentence)
                begin += len(sentence)


def scan(text: str, escape: Callable[[str], str]) -> Iterator[str | Mark]:
    """A text's stretches and its placeholders."""
    begin = 0
    for found in find_placeholders(text):
        if begin < found.begin:
            yield text[begin : found.begin]
        raw = (escape(text[found.begin : found.end]),)
        yield Mark(found.kind, raw)  # type: ignore[arg-type]
        begin = found.end
    if begin < len(text):
        yield text[begin:]


def match_tags(items: Sequence[str | Mark]) -> dict[int, int]:
    """For each opening tag the place of its closing one, where the two nest as they should."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for place, item in enumerate(items):
        if isinstance(item, str):
            continue
        if item.kind == "open":
            stack.append(place)
        elif item.kind == "close" and stack and _name(items[stack[-1]]) == item.name:
            begin = stack.pop()
            if len(stack) < MAX_DEPTH:
                pairs[begin] = place
    return pairs


def _name(item: str | Mark) -> str:
    assert isinstance(item, Mark)
    return item.name


def make_segment(items: Sequence[str | Mark], raw: Parts, escape: Callable[[str], str]) -> Segment:
    """Builds a segment from text and marks, in order; each opening tag has its closing one.

    Raises:
        ValueError: there are more placeholders than it can tell apart.
    """
    plain, length = [""], 0
    slots: list[Slot] = []
    breaks: list[int] = []
    root = Node(0, 0, ())
    stack = [root]
    for place, item in enumerate(items):
        if isinstance(item, str):
            if stack[-1].children and stack[-1].children[-1].spaces == (True, True):
                # The space before what is empty stands for both.
                last = stack[-1].children[-1]
                item = item[1:] if last.end == length and item[:1] == " " else item
            plain.append(item)
            length += len(item)
        elif item.kind in ("word", "number"):
            if len(slots) == MAX_SLOTS:
                raise ValueError(f"a paragraph has more than {MAX_SLOTS:,} placeholders; part it")
            plain.append(chr(FIRST_SLOT + len(slots)))
            length += 1
            slots.append(Slot(item.raw, item.kind == "number"))
        elif item.kind == "open":
            stack.append(Node(length, length, item.raw))
            stack[-2].children.append(stack[-1])
        elif item.kind == "close":
            node = stack.pop()
            node.end, node.close = length, item.raw
        else:
            node = Node(length, length, item.raw)
            after = items[place + 1] if place + 1 < len(items) else ""
            is_after = isinstance(after, str) and after[:1].isspace()
            node.spaces = (plain[-1][-1:].isspace(), is_after)
            if item.kind == "break":
                breaks.append(length)
            stack[-1].children.append(node)
    return Segment("".join(plain), root.children, slots, breaks, raw, escape)


def split_edges(text: str) -> tuple[str, str, str]:
    """The white space before a text, the text, and the white space behind it."""
    match = _EDGES.match(text)
    assert match is not None
    before, inner, after = match.groups()
    return before, inner, after
