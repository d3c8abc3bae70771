"""What HTML and XML have in common: blocks, tags within a sentence, what stays as it is."""

import html
import re
from collections.abc import Callable

from transformer.text.markup.document import Document
from transformer.text.markup.segment import Mark, Parts, make_segment, scan, split_edges

_SPACE = " \t\r\n\f"
_SPACES = re.compile(f"[{_SPACE}]+")


def escape(text: str) -> str:
    """Text as it is written between tags."""
    return html.escape(text, quote=False)


def escape_in(quote: str) -> Callable[[str], str]:
    """Writes text as it is written between such quotes."""
    reference = "&quot;" if quote == '"' else "&#39;"
    return lambda text: escape(text).replace(quote, reference)


class Writer:
    """Takes a document's tags and texts in order, and finds the paragraphs in them."""

    def __init__(self) -> None:
        self.document = Document()
        self._items: list[str | Mark] = []
        self._raws: list[Parts] = []

    def add_text(self, text: str, raw: str) -> None:
        """Adds what a reader sees, and how it stands in the file."""
        core = raw.strip(_SPACE)
        begin = raw.index(core) if core else len(raw)
        self._add(" ", raw[:begin])
        items = list(scan(_SPACES.sub(" ", text.strip(_SPACE)), escape))
        for number, item in enumerate(items):
            self._items.append(item)
            self._raws.append((core,) if number == 0 else ())
        self._add(" ", raw[begin + len(core) :])

    def _add(self, text: str, raw: str) -> None:
        if raw:
            self._items.append(text)
            self._raws.append((raw,))

    def add_mark(self, mark: Mark) -> None:
        """Adds what stands in a sentence without being text."""
        self._items.append(mark)
        self._raws.append(mark.raw)

    def add_block(self, raw: Parts) -> None:
        """Ends the paragraph, and keeps what ended it."""
        self.flush()
        self.document.parts += raw

    def flush(self) -> None:
        """Ends the paragraph."""
        self.document.add_items(self._items, self._raws, escape)
        self._items, self._raws = [], []

    def add_attribute(self, value: str, quoted: Callable[[str], str]) -> int:
        """Takes the text of an attribute in, as a document of its own; returns its number."""
        before, inner, after = split_edges(html.unescape(value))
        items = list(scan(_SPACES.sub(" ", inner), quoted))
        raw: Parts = (value,)
        return self.document.add(
            make_segment([item for item in (before, *items, after) if item], raw, quoted)
        )
