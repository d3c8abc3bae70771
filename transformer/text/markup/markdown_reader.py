"""Markdown (CommonMark, with tables)."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from transformer.text.markup.document import Document
from transformer.text.markup.segment import Mark, scan

if TYPE_CHECKING:
    from markdown_it.token import Token

_SPECIAL = re.compile(r"[\\`*_\[\]<]")
_FRONT_MATTER = re.compile(r"(?s)\A---\n.*?\n---(?:\n|\Z)")


def escape(text: str) -> str:
    """Text without what would be read as Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def read_markdown(text: str) -> Document:
    """Code, HTML, link targets and front matter stay; a paragraph's lines become one.

    Raises:
        ValueError: the package that reads Markdown is not installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise ValueError(
            "Markdown needs markdown-it-py: pip install -c constraints.txt -e '.[documents]'"
        ) from None

    document = Document()
    matter = _FRONT_MATTER.match(text)
    if matter:
        document.parts.append(matter[0])
        text = text[matter.end() :]
    lines = text.split("\n")
    line, column = 0, 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type != "inline" or token.map is None or not token.content.strip():
            continue
        begin, end = token.map
        content = token.content.split("\n")
        first = lines[begin].find(content[0].strip(), column if begin == line else 0)
        last = lines[end - 1].rfind(content[-1].strip())
        if first < 0 or last < 0:
            continue  # as with tabs that were expanded: it stays
        _add_up_to(document, lines, line, column, begin, first)
        stop = len(content[-1].strip()) + (first if begin == end - 1 else last)
        items = list(_read_inline(token.children or []))
        raw = _between(lines, begin, first, end - 1, stop)
        raws = [(raw,), *[()] * (len(items) - 1)]
        document.add_items(items, raws, escape)
        line, column = end - 1, stop
    _add_up_to(document, lines, line, column, len(lines) - 1, len(lines[-1]))
    return document


def _between(lines: Sequence[str], line: int, column: int, to: int, to_column: int) -> str:
    if line == to:
        return lines[line][column:to_column]
    return "\n".join([lines[line][column:], *lines[line + 1 : to], lines[to][:to_column]])


def _add_up_to(
    document: Document, lines: Sequence[str], line: int, column: int, to: int, to_column: int
) -> None:
    document.parts.append(_between(lines, line, column, to, to_column))


def _read_inline(tokens: Sequence["Token"]) -> Iterator[str | Mark]:
    closings: list[str] = []
    for token in tokens:
        kind = token.type
        if kind == "text":
            yield from scan(token.content, escape)
        elif kind == "softbreak":
            yield " "
        elif kind == "hardbreak":
            yield Mark("break", ("\\\n",))
        elif kind == "code_inline":
            yield Mark("word", (f"{token.markup}{_pad(token.content)}{token.markup}",))
        elif kind == "html_inline":
            yield Mark("empty", (token.content,))
        elif kind == "image":
            yield Mark("float", (f"![{escape(token.content)}]({_target(token, 'src')})",))
        elif kind == "link_open":
            is_plain = token.markup in ("autolink", "linkify")
            closings.append(">" if is_plain else f"]({_target(token, 'href')})")
            yield Mark("open", ("<" if is_plain else "[",), "link")
        elif kind == "link_close":
            yield Mark("close", (closings.pop(),), "link")
        elif token.nesting == 1:
            yield Mark("open", (token.markup,), kind.removesuffix("_open"))
        elif token.nesting == -1:
            yield Mark("close", (token.markup,), kind.removesuffix("_close"))
        else:
            yield Mark("empty", (token.content,))


def _pad(code: str) -> str:
    return f" {code} " if code.startswith("`") or code.endswith("`") else code


def _target(token: "Token", name: str) -> str:
    url, title = str(token.attrGet(name) or ""), token.attrGet("title")
    if not url or re.search(r"[\s()<>]", url):
        url = f"<{url}>"
    return url if not title else f'{url} "{str(title).replace(chr(34), chr(92) + chr(34))}"'
