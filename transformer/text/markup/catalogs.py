"""Messages and subtitles in files that translate-toolkit reads and writes: PO, XLIFF, SRT."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from transformer.text.markup.document import Document
from transformer.text.markup.text_reader import read_text
from transformer.text.markup.xml_reader import read_xml

# By suffix, a module of `translate.storage` and its class.
STORES = {
    ".po": ("pypo", "pofile"),
    ".pot": ("pypo", "pofile"),
    ".xlf": ("xliff", "xlifffile"),
    ".xliff": ("xliff", "xlifffile"),
    ".srt": ("subtitles", "SubRipFile"),
}
# XLIFF's elements that hold a piece of another format: its tags and signs.
_NATIVE_CODE = {"bpt": "open", "ept": "close", "ph": "float", "it": "float"}

# What is to be translated, and what makes the file of its translations.
Catalog = tuple[list[Document], Callable[[Sequence[str]], bytes]]


def read_catalog(data: bytes, suffix: str) -> Catalog:
    """Takes a file's messages that have no translation yet; all else stays.

    Args:
        data: the file, in UTF-8.
        suffix: of its name, of `STORES`.

    Raises:
        ValueError: translate-toolkit is not installed; the file is not of its format, or is XML
            with a document type.
    """
    module, name = STORES[suffix]
    try:
        store_class: Any = getattr(importlib.import_module(f"translate.storage.{module}"), name)
    except ImportError:
        raise ValueError(
            f"{suffix} files need translate-toolkit: "
            "pip install -c constraints.txt -e '.[documents]'"
        ) from None
    if module == "xliff" and (b"<!DOCTYPE" in data or b"<!ENTITY" in data):
        raise ValueError("XLIFF with a document type is refused: its entities could be a bomb")
    try:
        store = store_class.parsestring(data)
    except Exception as error:  # the library raises what its parsers raise
        raise ValueError(f"not a {suffix} file that translate-toolkit reads: {error}") from None
    take = {"pypo": _take_po, "xliff": _take_xliff, "subtitles": _take_subtitle}[module]
    taken = [take(store, unit) for unit in store.units if unit.istranslatable()]

    def write(texts: Sequence[str]) -> bytes:
        remaining = iter(texts)
        for documents, put in taken:
            put([next(remaining) for _ in documents])
        return bytes(store)

    return [document for documents, _ in taken for document in documents], write


# Of one message: what is to be translated, and what takes the translations.
_Taken = tuple[list[Document], Callable[[list[str]], None]]


def _skip(texts: list[str]) -> None:
    assert not texts


def _take_po(store: Any, unit: Any) -> _Taken:
    if unit.target:
        return [], _skip
    if not unit.hasplural():

        def put(texts: list[str]) -> None:
            (unit.target,) = texts

        return [read_text(str(unit.source))], put
    num_forms = store.getheaderplural()[0]

    def put_forms(texts: list[str]) -> None:
        one, other = texts
        count = int(num_forms) if num_forms and num_forms.isdigit() else 2
        unit.target = [one, *[other] * (count - 1)]

    return [read_text(str(form)) for form in unit.source.strings[:2]], put_forms


def _take_xliff(store: Any, unit: Any) -> _Taken:
    from lxml import etree

    if unit.target:
        return [], _skip
    source = unit.source_dom
    written = etree.tostring(source, encoding="unicode", with_tail=False)

    def put(texts: list[str]) -> None:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        target = etree.fromstring(texts[0], parser)
        target.tag = etree.QName(etree.QName(source).namespace, "target").text
        target.attrib.clear()
        target.tail = source.tail
        unit.set_target_dom(target)

    return [read_xml(written, _NATIVE_CODE)], put


def _take_subtitle(store: Any, unit: Any) -> _Taken:
    # A sentence runs over the lines of its picture; its translation gets as many.
    lines = str(unit.source).split("\n")

    def put(texts: list[str]) -> None:
        unit.target = _break(texts[0], len(lines))

    return [read_text(" ".join(lines))], put


def _break(text: str, num_lines: int) -> str:
    """The text on so many lines of about the same length."""
    words, lines = text.split(" "), []
    for left in range(num_lines, 1, -1):
        width = len(" ".join(words)) / left
        line = words[:1]
        while len(words) > len(line) and len(" ".join(words[: len(line) + 1])) <= width + 3:
            line = words[: len(line) + 1]
        lines.append(" ".join(line))
        words = words[len(line) :]
    return "\n".join([*lines, " ".join(words)]).strip("\n")
