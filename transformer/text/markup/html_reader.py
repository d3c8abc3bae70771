"""HTML, as a page or a piece of one."""

import html
import re
from html.parser import HTMLParser
from itertools import accumulate

from transformer.text.alignment import Span
from transformer.text.markup.document import Document
from transformer.text.markup.hypertext import Writer, escape_in
from transformer.text.markup.segment import Mark, Parts

# Tags that stand within a sentence; all others end one.
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em"),
        *("font", "i", "img", "ins", "label", "mark", "q", "s", "small", "span", "strike"),
        *("strong", "time", "tt", "u", "wbr"),
    )
)
_EMPTY = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    )
)
# Not translated: what is a block, what is a word of its sentence, and what is a sign in it.
_BLOCKS = ("script", "style", "pre", "textarea", "noscript", "iframe", "object", "template")
_KEPT = {
    **dict.fromkeys(_BLOCKS, "block"),
    **dict.fromkeys(("code", "kbd", "samp", "var"), "word"),
    **dict.fromkeys(("svg", "math", "sub", "sup"), "float"),
}
_ATTRIBUTE = re.compile(r"""[\s/]+([^\s=>/"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_TRANSLATED = frozenset(("alt", "title", "placeholder", "aria-label"))


def read_html(text: str) -> Document:
    """Tags, comments, scripts, `pre`, `code` and what says `translate="no"` stay as they are.

    Of attributes `alt`, `title`, `placeholder` and `aria-label` are translated. Tags of a
    sentence may move with its words, and no other.
    """
    reader = _Reader(text)
    reader.feed(text)
    reader.close()
    return reader.finish()


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self._text = text
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        # Where each piece begins, what it is, and its tag's name.
        self._events: list[tuple[int, str, str]] = []

    def _note(self, kind: str, name: str = "") -> None:
        line, column = self.getpos()
        self._events.append((self._lines[line - 1] + column, kind, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Notes an opening tag."""
        self._note("empty" if tag in _EMPTY else "open", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Notes a tag that closes itself."""
        self._note("empty", tag)

    def handle_endtag(self, tag: str) -> None:
        """Notes a closing tag."""
        self._note("close", tag)

    def handle_data(self, data: str) -> None:
        """Notes text."""
        self._note("text")

    def handle_charref(self, name: str) -> None:
        """Notes a character written as a number."""
        self._note("text")

    def handle_entityref(self, name: str) -> None:
        """Notes a character written as a name."""
        self._note("text")

    def handle_comment(self, data: str) -> None:
        """Notes a comment."""
        self._note("comment")

    def handle_decl(self, decl: str) -> None:
        """Notes a declaration."""
        self._note("block")

    def handle_pi(self, data: str) -> None:
        """Notes an instruction."""
        self._note("comment")

    def unknown_decl(self, data: str) -> None:
        """Notes what HTML doesn't have."""
        self._note("comment")

    def finish(self) -> Document:
        """The document, once all is read."""
        writer = Writer()
        ends = [*(begin for begin, _, _ in self._events), len(self._text)][1:]
        pending = ""  # text that several events tell of
        kept, kept_as, depth, begun = "", "", 0, 0
        for (begin, kind, name), end in zip(self._events, ends, strict=True):
            raw = self._text[begin:end]
            if kept:
                depth += (kind == "open" and name == kept) - (kind == "close" and name == kept)
                if depth == 0:
                    _keep(writer, kept_as, self._text[begun:end])
                    kept = ""
                continue
            if kind == "text":
                pending += raw
                continue
            if pending:
                writer.add_text(html.unescape(pending), pending)
                pending = ""
            attributes = _read_attributes(raw) if kind in ("open", "empty") else {}
            how = _how_kept(name, raw, attributes)
            if how and kind == "empty":
                attributes = {}
            if how and kind == "open":
                kept, kept_as, depth, begun = name, how, 1, begin
            elif kind == "comment":
                writer.add_mark(Mark("empty", (raw,)))
            elif name == "br":
                writer.add_mark(Mark("break", (raw,)))
            elif name in _INLINE:
                parts = _translate_attributes(writer, raw, attributes)
                writer.add_mark(Mark(kind, parts, name))  # type: ignore[arg-type]
            else:
                writer.add_block(_translate_attributes(writer, raw, attributes))
        if kept:  # never closed
            writer.add_block((self._text[begun:],))
        if pending:
            writer.add_text(html.unescape(pending), pending)
        writer.flush()
        return writer.document


def _keep(writer: Writer, how: str, raw: str) -> None:
    if how == "block":
        writer.add_block((raw,))
    else:
        writer.add_mark(Mark(how, (raw,)))  # type: ignore[arg-type]


def _read_attributes(raw: str) -> dict[str, Span]:
    """Where the value of each attribute stands in a tag that opens, without its quotes."""
    found: dict[str, Span] = {}
    for match in _ATTRIBUTE.finditer(raw):
        begin, end = match.span(2)
        is_quoted = begin >= 0 and raw[begin] in "\"'"
        found.setdefault(match[1].lower(), (begin + is_quoted, end - is_quoted))
    return found


def _how_kept(name: str, raw: str, attributes: dict[str, Span]) -> str:
    def value(of: str) -> str:
        begin, end = attributes.get(of, (0, 0))
        return raw[begin:end].lower()

    if value("translate") == "no" or "notranslate" in value("class").split():
        return _KEPT.get(name, "word" if name in _INLINE else "block")
    return _KEPT.get(name, "")


def _translate_attributes(writer: Writer, raw: str, attributes: dict[str, Span]) -> Parts:
    parts: list[str | int] = []
    position = 0
    for name, (begin, end) in attributes.items():
        if name in _TRANSLATED and begin >= 0 and raw[begin - 1] in "\"'":
            quote = raw[begin - 1]
            parts += [raw[position:begin], writer.add_attribute(raw[begin:end], escape_in(quote))]
            position = end
    return (*parts, raw[position:])
