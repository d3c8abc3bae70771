"""Plain text, line by line."""

import re
from collections.abc import Iterator

from transformer.text.markup.document import Document
from transformer.text.markup.segment import Mark, make_segment, match_tags, scan, split_edges

_LINES = re.compile(r"[^\r\n]+|[\r\n]+")
# Bullets, numbers and marks of quotation at a line's beginning.
_PREFIX = re.compile(r"\s*(?:(?:[-*+•·>#–—]+|\(?[0-9]{1,3}[.)])\s+)*")
_TAG = re.compile(r"<(/?)([\w:.-]+)[^>]*?(/?)>")


def read_text(text: str) -> Document:
    """Each line is a paragraph: line ends, blank lines, indentation and bullets stay."""
    document = Document()
    for match in _LINES.finditer(text):
        line = match[0]
        prefix = _PREFIX.match(line)
        assert prefix is not None
        _, inner, after = split_edges(line[prefix.end() :])
        document.parts.append(prefix[0])
        if inner:
            items = list(_scan_tags(inner))
            document.parts.append(document.add(make_segment(items, (inner,), str)))
        document.parts.append(after)
    return document


def _scan_tags(line: str) -> Iterator[str | Mark]:
    # `<0>…</0>` in messages are tags as in HTML; one that stands alone is a sign.
    items = [_as_tag(item) for item in scan(line, str)]
    pairs = match_tags(items)
    matched = {*pairs, *pairs.values()}
    for place, item in enumerate(items):
        if isinstance(item, Mark) and item.kind in ("open", "close") and place not in matched:
            yield Mark("float", item.raw)
        else:
            yield item


def _as_tag(item: str | Mark) -> str | Mark:
    if isinstance(item, Mark) and item.kind == "float" and isinstance(item.raw[0], str):
        tag = _TAG.fullmatch(item.raw[0])
        if tag and not tag[3]:
            return Mark("close" if tag[1] else "open", item.raw, tag[2])
    return item
