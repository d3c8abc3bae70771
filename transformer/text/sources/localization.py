"""Corpora of localization files: TMX, XLIFF, PO and MO, as translate-toolkit reads them."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from transformer.files import sha256_file
from transformer.text.corpus import Pair, Row
from transformer.text.corpus_config import LocalizationSource
from transformer.text.sources.lines import open_bytes
from transformer.text.sources.source import Source

SUFFIXES = (".tmx", ".xlf", ".xliff", ".po", ".mo")
# What TMX, XLIFF 1 and XLIFF 2 call a piece of text with its translation.
_UNITS = ("tu", "trans-unit", "segment")
# What translators have not yet seen to, as XLIFF calls it.
_UNFINISHED = ("new", "needs-", "initial")


class _Languages(NamedTuple):
    source: str
    target: str
    # Of the messages in PO and MO files.
    messages: str | None


def open_localization(
    config: LocalizationSource, source_language: str, target_language: str
) -> Source:
    """Finds the files; each pair's origin is its file's path.

    Messages without a translation, fuzzy and obsolete ones are no pairs. Of a message with plural
    forms the first form goes with the singular, the last with the plural.

    Raises:
        ValueError: translate-toolkit is not installed, there is no such file, or the language of
            messages is none of the corpus's.
    """
    try:
        import translate.storage.base  # noqa: F401
    except ImportError:
        raise ValueError(
            "corpus.kind = 'localization' needs translate-toolkit: "
            "pip install -c constraints.txt -e '.[documents]'"
        ) from None
    languages = _Languages(source_language, target_language, config.message_language)
    if languages.messages not in (None, source_language, target_language):
        raise ValueError(
            f"corpus.message_language = {languages.messages!r}: allowed are "
            f"{source_language!r}, {target_language!r} and null"
        )
    files = _find_files(Path(config.path), config.files)
    return Source(
        parts={"train": partial(_read_files, files, languages)},
        origin=config.path,
        revision=None,
        sha256={name: sha256_file(path) for name, path in files.items()},
        has_origins=True,
    )


def _find_files(path: Path, pattern: str | None) -> Mapping[str, Path]:
    if pattern is None:
        files = {path.name: path}
        open_bytes(path).close()
    else:
        try:
            found = sorted(path.glob(pattern))
        except (ValueError, NotImplementedError) as error:  # such as an absolute one
            raise ValueError(f"corpus.files = {pattern!r}: {error}") from None
        files = {one.relative_to(path).as_posix(): one for one in found if one.is_file()}
    files = {name: path for name, path in files.items() if _suffix(path) in SUFFIXES}
    if not files:
        what = "" if pattern is None else f", corpus.files = {pattern!r}"
        raise ValueError(f"corpus.path = {path}{what}: no file ends in {', '.join(SUFFIXES)}")
    return files


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_files(files: Mapping[str, Path], languages: _Languages) -> Iterator[Row]:
    for name, path in files.items():
        read = _read_messages if _suffix(path) in (".po", ".mo") else _read_xml
        try:
            for source, target in read(path, languages):
                if source and target:
                    yield source, target, name
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{path}: can't be unpacked ({error}); get it again") from error


def _read_xml(path: Path, languages: _Languages) -> Iterator[Pair]:
    # Unit by unit: memories are large, and the library would hold all of one.
    seen: set[str] = set()
    num_pairs = 0
    with open_bytes(path) as file:
        for element in _parse(file):
            texts = _texts(element, languages)
            source, target = (_choose(texts, one) for one in (languages.source, languages.target))
            if source is not None and target is not None and source != target:
                num_pairs += 1
                yield texts[source], texts[target]
            elif len(texts) > 1:
                seen |= texts.keys()
    if seen and not num_pairs:
        raise ValueError(
            f"no unit has both {languages.source} and {languages.target}, but "
            f"{', '.join(sorted(seen))}; narrow corpus.files"
        )


def _parse(file: IO[bytes]) -> Iterator[Any]:
    """The units of a TMX or XLIFF file, each gone when the next one comes."""
    from lxml import etree

    tags = [f"{{*}}{name}" for name in ("tmx", "xliff", *_UNITS)]
    elements = etree.iterparse(file, events=("start", "end"), tag=tags, resolve_entities=False)
    try:
        for event, element in elements:
            if event == "start":
                document_type = element.getroottree().docinfo.internalDTD
                if document_type is not None and list(document_type.iterentities()):
                    raise ValueError(
                        f"line {element.sourceline}: a document type that declares entities is "
                        "refused, since they could stand for billions of characters"
                    )
            elif etree.QName(element).localname in _UNITS:
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise ValueError(f"damaged, or no XML: {error.msg}; get it again, or mend it") from error


def _texts(element: Any, languages: _Languages) -> dict[str, str]:
    # What a unit says, by language.
    from lxml import etree
    from translate.misc.xml_helpers import getXMLlang
    from translate.storage.tmx import tmxunit
    from translate.storage.xliff import Xliff1Unit
    from translate.storage.xliff2 import Xliff2Unit

    name = etree.QName(element)
    unit = {"tu": tmxunit, "trans-unit": Xliff1Unit, "segment": Xliff2Unit}[
        name.localname
    ].createfromxmlElement(element)
    unit.namespace = name.namespace
    texts: dict[str, str] = {}
    if name.localname == "tu":
        for node in unit.getlanguageNodes():
            # TMX 1.1 says `lang`.
            texts.setdefault(getXMLlang(node) or node.get("lang", ""), unit.getNodeText(node) or "")
        return texts
    if unit.target_dom is None or (
        (unit.target_dom.get("state") or element.get("state", "")).startswith(_UNFINISHED)
    ):
        return {}
    ancestors = [one.attrib for one in element.iterancestors()]
    source, target = (
        next((one[key] for one in ancestors for key in keys if key in one), "")
        for keys in (("source-language", "srcLang"), ("target-language", "trgLang"))
    )
    if not target:  # not every file says it
        target = languages.target if _base(source) == _base(languages.source) else languages.source
    return {source: unit.source or "", target: unit.target or ""}


def _choose(texts: Mapping[str, str], language: str) -> str | None:
    """Which of the languages is this one: the very same, or one of another region or script."""
    wanted = _tag(language)
    exact = next((one for one in texts if _tag(one) == wanted), None)
    return exact or next((one for one in texts if _base(one) == _base(language)), None)


def _tag(language: str) -> str:
    return language.replace("_", "-").lower()


def _base(language: str) -> str:
    return _tag(language).partition("-")[0]


def _read_messages(path: Path, languages: _Languages) -> Iterator[Pair]:
    from translate.storage.mo import mofile
    from translate.storage.pypo import pofile

    if languages.messages is None:
        raise ValueError(
            f"corpus.message_language = null, but {path.name} has messages: set it to "
            f"{languages.source!r} or {languages.target!r}, whichever they are written in"
        )
    with open_bytes(path) as file:
        data = file.read()
    is_binary = _suffix(path) == ".mo"
    charset = re.search(rb"charset=([\w-]+)", data)
    try:
        if is_binary:
            _check_entries(data, mofile.parse_header(data))
        else:
            data.decode(charset[1].decode() if charset else "utf-8")
        store: Any = (mofile if is_binary else pofile).parsestring(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{'an entry' if is_binary else f'line {line}'}: byte "
            f"0x{error.object[error.start]:02x} is not {error.encoding}; convert it"
        ) from None
    except Exception as error:  # the library raises what its parsers raise
        raise ValueError(f"damaged, or not of its format ({error}); get it again") from error
    is_source = languages.messages == languages.source
    expected = languages.target if is_source else languages.source
    found = store.gettargetlanguage()
    if found and _base(found) != _base(expected):
        raise ValueError(f"translates into {found}, not {expected}; narrow corpus.files")
    for unit in store.units:
        if unit.isheader() or unit.isfuzzy() or unit.isobsolete() or not unit.target:
            continue
        messages, translations = (
            list(map(str, getattr(text, "strings", [text]))) for text in (unit.source, unit.target)
        )
        forms = [(messages[0], translations[0])]
        if len(messages) > 1:  # the last form is for many, and with only one form for all
            forms = [*forms[: len(translations) - 1], (messages[-1], translations[-1])]
        for message, translation in forms:
            yield (message, translation) if is_source else (translation, message)


def _check_entries(data: bytes, header: Sequence[Any]) -> None:
    # The library takes what is there of an entry that was cut off.
    endian, _, _, count, messages, translations, *_ = header
    for begin in (messages, translations):
        table = np.frombuffer(data, f"{endian}i4", 2 * count, begin).astype(np.int64)
        lengths, offsets = table.reshape(-1, 2).T
        wrong = (lengths < 0) | (offsets < 0) | (offsets + lengths > len(data))
        if wrong.any():
            raise ValueError(f"entry {wrong.argmax() + 1} lies beyond the end of the file")
