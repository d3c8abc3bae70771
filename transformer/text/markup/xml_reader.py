"""XML, as a document or a piece of one."""

import html
import re
from collections.abc import Mapping
from types import MappingProxyType
from xml.parsers import expat

from transformer.text.markup.document import Document
from transformer.text.markup.hypertext import Writer
from transformer.text.markup.segment import Mark

_ROOT = b"<r>"
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")


def read_xml(text: str, kept: Mapping[str, str] = MappingProxyType({})) -> Document:
    """Elements that stand within sentences, or are paragraphs.

    An element stands within a sentence where text stands beside it, or around it; else it is a
    paragraph. Attributes, comments, CDATA and what says `translate="no"` stay as they are.

    Args:
        text: a whole document, or what could stand in an element.
        kept: names of elements that stay as they are, and as what kind of mark.

    Raises:
        ValueError: it is not well-formed, or has a document type with declarations, whose
            entities could stand for billions of characters.
    """
    data = text.encode()
    is_whole = text.lstrip("\ufeff").lstrip().startswith(("<?xml", "<!DOCTYPE"))
    before, after = (b"", b"") if is_whole else (_ROOT, b"</r>")
    events = _Events(before + data + after)
    writer = Writer()
    ends = [begin for begin, *_ in events.found[1:]] + [len(events.data)]
    depth, begun, pending = 0, 0, ""
    for (begin, kind, name, element, is_kept), end in zip(events.found, ends, strict=True):
        raw = events.data[begin:end].decode()
        if depth:
            depth += (kind == "open") - (kind == "close")
            if not depth:
                whole = events.data[begun:end].decode()
                if name in kept:
                    writer.add_mark(Mark(kept[name], (whole,), "code"))  # type: ignore[arg-type]
                elif events.is_inline(element):
                    writer.add_mark(Mark("word", (whole,)))
                else:
                    writer.add_block((whole,))
            continue
        if kind == "text":
            pending += raw
            continue
        if pending:
            writer.add_text(html.unescape(pending), pending)
            pending = ""
        if not is_whole and element == 0:
            continue  # the root that was put around it
        if kind == "open" and (is_kept or name in kept):
            depth, begun = 1, begin
        elif kind == "comment":
            writer.add_mark(Mark("empty", (raw,)))
        elif kind != "block" and events.is_inline(element):
            writer.add_mark(Mark(kind, (raw,), name))  # type: ignore[arg-type]
        else:
            writer.add_block((raw,))
    writer.flush()
    return writer.document


class _Events:
    """What stands where: begin in bytes, kind, name, number of the element, is it kept."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.found: list[tuple[int, str, str, int, bool]] = []
        self._parents: list[int] = []
        self._with_text: set[int] = set()
        self._inline: list[bool] = []
        self._open: list[int] = []
        self._empty: list[bool] = []
        self._in_cdata = False
        parser = self._parser = expat.ParserCreate("UTF-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = lambda data: self._note("comment")
        parser.ProcessingInstructionHandler = lambda target, data: self._note("comment")
        parser.XmlDeclHandler = lambda version, encoding, standalone: self._note("block")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartCdataSectionHandler = self._cdata
        parser.EndCdataSectionHandler = self._cdata_end
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise ValueError(
                f"not well-formed XML: {error}; mend it, or take format html"
            ) from None
        for parent in self._parents:
            is_inline = parent >= 0 and (parent in self._with_text or self._inline[parent])
            self._inline.append(is_inline)

    def is_inline(self, element: int) -> bool:
        """Whether an element stands within a sentence."""
        return element >= 0 and self._inline[element]

    def _note(self, kind: str, name: str = "", element: int = -1, is_kept: bool = False) -> None:
        if not self._in_cdata:
            self.found.append((self._parser.CurrentByteIndex, kind, name, element, is_kept))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = len(self._parents)
        self._parents.append(self._open[-1] if self._open else -1)
        self._open.append(element)
        begin = self._parser.CurrentByteIndex
        kind = "empty" if self._closes_itself(begin) else "open"
        self._empty.append(kind == "empty")
        self._note(kind, name, element, attributes.get("translate") == "no")

    def _closes_itself(self, begin: int) -> bool:
        tag = _TAG.match(self.data, begin)
        return tag is not None and tag[0].endswith(b"/>")

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if not self._empty.pop():
            self._note("close", name, element)

    def _text(self, data: str) -> None:
        if data.strip() and self._open and not self._in_cdata:
            self._with_text.add(self._open[-1])
        self._note("text")

    def _cdata(self) -> None:
        self._note("comment")
        self._in_cdata = True

    def _cdata_end(self) -> None:
        self._in_cdata = False

    def _doctype(self, name: str, system: str | None, public: str | None, is_long: int) -> None:
        if is_long:
            raise ValueError(
                "XML with declarations in its document type (<!DOCTYPE … [) is refused, since "
                "entities could stand for billions of characters; take the declarations out"
            )
        self._note("block")
