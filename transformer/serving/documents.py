"""Texts and files of any format, translated with their structure."""

import html
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

from transformer.serving.translator import Translator, UntranslatableError
from transformer.text.markup.catalogs import STORES, read_catalog
from transformer.text.markup.document import Document
from transformer.text.markup.html_reader import read_html
from transformer.text.markup.markdown_reader import read_markdown
from transformer.text.markup.text_reader import read_text
from transformer.text.markup.translation import Translate, translate_documents
from transformer.text.markup.xml_reader import read_xml

PLAIN = "text"
# What a text can be.
TEXT_FORMATS: dict[str, Callable[[str], Document]] = {
    PLAIN: read_text,
    "html": read_html,
    "xml": read_xml,
    "markdown": read_markdown,
}
_BY_SUFFIX = {
    ".txt": "text",
    ".htm": "html",
    ".html": "html",
    ".md": "markdown",
    ".xml": "xml",
    ".xhtml": "html",
}
# What a file's name can end in.
SUFFIXES = (*_BY_SUFFIX, *STORES)
_TAG = re.compile(r"<[^<>]*>")
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"BZh", b"\xfd7zXZ\x00", b"Rar!")


def strip_markup(text: str, text_format: str) -> str:
    """What a text of HTML or XML says, roughly: without tags, with characters for entities."""
    return html.unescape(_TAG.sub(" ", text)) if text_format in ("html", "xml") else text


def translate_texts(
    texts: Sequence[str],
    text_format: str,
    translator: Translator,
    translate: Translate | None = None,
) -> list[str]:
    """Translates texts; lines, tags and placeholders are kept as docs/documents.md says.

    Args:
        texts: of the format.
        text_format: of `TEXT_FORMATS`.
        translator: whose languages and alignment are used.
        translate: sentences, as many translations in order; None: the translator's best ones.

    Raises:
        ValueError: an unknown format; a text that is not of its format; a sentence that can't be
            translated, which is told.
    """
    read = TEXT_FORMATS.get(text_format)
    if read is None:
        known = ", ".join(TEXT_FORMATS)
        raise ValueError(f"format = {text_format!r} is unknown; there is {known}")
    return _translate([read(text) for text in texts], translator, translate)


def translate_file(
    name: str, data: bytes, translator: Translator, translate: Translate | None = None
) -> bytes:
    """Translates a file's content.

    Args:
        name: of the file, for its suffix, one of `SUFFIXES`, and for messages.
        data: UTF-8; a byte order mark and the kind of line ends are kept.
        translator: as for `translate_texts`.
        translate: likewise.

    Raises:
        ValueError: an unknown suffix, an archive, no UTF-8, and as `translate_texts` does; the
            message begins with the name.
    """
    suffix = PurePath(name).suffix.lower()
    try:
        if suffix not in SUFFIXES:
            raise ValueError(f"unknown kind of file; there is {', '.join(SUFFIXES)}")
        if data.startswith(_ARCHIVES):
            raise ValueError("is an archive; unpack it, and give its files")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}); "
                "convert it first, for instance with iconv"
            ) from None
        if suffix in STORES:
            documents, write = read_catalog(data, suffix)
            return write(_translate(documents, translator, translate))
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        read = TEXT_FORMATS[_BY_SUFFIX[suffix]]
        (whole,) = _translate([read(text.removeprefix(mark))], translator, translate)
        return (mark + whole).encode()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _translate(
    documents: Sequence[Document], translator: Translator, translate: Translate | None
) -> list[str]:
    def best(sentences: list[str]) -> list[str]:
        return [answers[0].text for answers in translator.translate(sentences)]

    def told(sentences: list[str]) -> Sequence[str]:
        try:
            return (translate or best)(sentences)
        except UntranslatableError as error:
            sentence = sentences[error.index]
            shown = sentence if len(sentence) <= 60 else f"{sentence[:60]}…"
            raise ValueError(f"sentence {shown!r}: {error.reason}") from error

    return translate_documents(documents, told, translator.align, translator.sentence_gap)
