"""Localization files: pairs from every format, in either direction, and what is wrong with them."""

import gzip
import re
import struct
from pathlib import Path

import pytest

from transformer.text.corpus import Row
from transformer.text.corpus_config import LocalizationSource
from transformer.text.sources.localization import open_localization

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>Click <ph>&lt;b&gt;</ph>here, %s</seg></tuv>
    <tuv xml:lang="DE"><seg>%s, <ph>&lt;b&gt;</ph>hier klicken</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Nobody translated it</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Bonjour</seg></tuv><tuv xml:lang="de"><seg>Guten Tag</seg></tuv></tu>
</body></tmx>
"""
TMX_PAIRS = [("%s, <b>hier klicken", "Click <b>here, %s")]
XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="de-DE" datatype="plaintext" original="x"><body>
<trans-unit id="1"><source>Hello <x id="1"/>you</source><target>Hallo <x id="1"/>du</target>
<alt-trans><source>Hi</source><target>Na</target></alt-trans></trans-unit>
<trans-unit id="2"><source>New</source><target state="needs-translation">New</target></trans-unit>
<group><trans-unit id="3">
<source>In</source><target state="final">Drin</target></trans-unit></group>
<trans-unit id="4"><source>Untranslated</source></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en"
trgLang="de"><file id="f"><unit id="1">
<segment><source>Hello <pc id="1">you</pc></source>
<target>Hallo <pc id="1">du</pc></target></segment>
<segment state="initial"><source>New</source><target>New</target></segment>
<segment state="final"><source>In</source><target>Drin</target></segment>
</unit></file></xliff>
"""
XLIFF_PAIRS = [("Hallo du", "Hello you"), ("Drin", "In")]
PO = r"""
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#, fuzzy
msgid "Fuzzy"
msgstr "Unscharf"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

msgctxt "menu"
msgid "Two "
"lines\n"
msgstr "Für zwei\n"

msgid "Untranslated"
msgstr ""

#~ msgid "Obsolete"
#~ msgstr "Veraltet"
"""
PO_PAIRS = [("%d Datei", "%d file"), ("%d Dateien", "%d files"), ("Für zwei\n", "Two lines\n")]


def rows(
    path: Path,
    files: str | None = None,
    messages: str | None = "en",
    source: str = "de",
    target: str = "en",
) -> list[Row]:
    config = LocalizationSource(
        kind="localization", license="MIT", path=str(path), files=files, message_language=messages
    )
    opened = open_localization(config, source, target)
    assert opened.has_origins
    first, second = (list(opened.parts["train"]()) for _ in range(2))
    assert first == second
    return first


def make_mo(po: str) -> bytes:
    from translate.storage.mo import mofile
    from translate.storage.pypo import pofile

    compiled = mofile()
    for unit in pofile.parsestring(po.encode()).units:
        if unit.target and not unit.isfuzzy() and not unit.isobsolete():
            compiled.addunit(mofile.UnitClass.buildfromunit(unit))
    return bytes(compiled)


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        ("a.tmx", TMX, TMX_PAIRS),
        ("b.tmx", TMX.replace("<tmx ", '<tmx xmlns="http://www.lisa.org/tmx14" '), TMX_PAIRS),
        ("c.tmx", TMX.replace("xml:lang", "lang"), TMX_PAIRS),
        ("a.xlf", XLIFF, XLIFF_PAIRS),
        ("b.xlf", XLIFF.replace(' target-language="de-DE"', ""), XLIFF_PAIRS),
        (
            "c.xlf",  # from German, to what it doesn't say
            XLIFF.replace('"en" target-language="de-DE"', '"de"'),
            [(english, german) for german, english in XLIFF_PAIRS],
        ),
        ("c.xliff", XLIFF_2, XLIFF_PAIRS),
        ("a.po", PO, PO_PAIRS),
    ],
)
def test_each_format_gives_its_pairs_in_both_directions(
    tmp_path: Path, name: str, text: str, pairs: list[tuple[str, str]]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert rows(tmp_path / name) == [(*pair, name) for pair in pairs]
    turned = [(english, german, name) for german, english in pairs]
    assert rows(tmp_path / name, source="en", target="de") == turned


def test_a_compiled_catalog_gives_the_pairs_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.mo").write_bytes(make_mo(PO))
    assert sorted(row[:2] for row in rows(tmp_path / "a.mo")) == sorted(PO_PAIRS)


def test_one_form_for_all_numbers_goes_with_the_plural(tmp_path: Path) -> None:
    text = PO.replace("Language: de", "Language: zh").replace('msgstr[1] "%d Dateien"\n', "")
    (tmp_path / "zh.po").write_text(text, encoding="utf-8")
    found = rows(tmp_path / "zh.po", source="zh")
    assert found[0] == ("%d Datei", "%d files", "zh.po")
    assert len(found) == 2


def test_a_folder_gives_the_files_that_match_each_with_its_path(tmp_path: Path) -> None:
    for name, data in {
        "gnome/po/de.po": PO.encode(),
        "gnome/po/fr.po": PO.replace("Language: de", "Language: fr").encode(),
        "kde/de.po": PO.encode("utf-8-sig").replace(b"UTF-8", b"utf-8"),
        "kde/de.po.txt": b"no catalog",
        "memory.tmx.gz": gzip.compress(TMX.replace("utf-8", "utf-16").encode("utf-16")),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert [row[2] for row in rows(tmp_path, "**/de.po")] == [
        *["gnome/po/de.po"] * 3,
        *["kde/de.po"] * 3,
    ]
    assert rows(tmp_path, "*.gz") == [(*TMX_PAIRS[0], "memory.tmx.gz")]
    with pytest.raises(ValueError, match=r"fr\.po: translates into fr, not de; narrow"):
        rows(tmp_path, "**/*.po*")


BOMB = "<!DOCTYPE tmx [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.tmx",
            TMX.replace('<!DOCTYPE tmx SYSTEM "tmx14.dtd">', BOMB).encode(),
            r"line \d: .*entities is refused",
        ),
        ("a.xlf", (BOMB + XLIFF).encode("utf-16"), r"line \d: .*entities is refused"),
        ("a.tmx", TMX[:-60].encode(), r"damaged, or no XML: .*line \d"),
        ("a.tmx", TMX.encode().replace(b"hier", b"f\xfcr"), r"damaged, or no XML: .*line 5"),
        (
            "a.tmx",
            TMX.replace('g="en', 'g="es').encode(),
            r"no unit has both de and en, but .*es-US",
        ),
        ("a.tmx", b"", r"damaged, or no XML"),
        ("a.tmx.gz", gzip.compress(TMX.encode())[:-20], r"can't be unpacked"),
        ("a.po", PO[:-2].encode(), r"line \d+|Syntax error|end-of-line"),
        ("a.po", PO.encode().replace(b"\xc3\xbc", b"\xfc"), r"line 20: byte 0xfc is not utf-8"),
        ("a.po", b"\xff\xd8\xff\xe0", r"byte 0xff is not utf-8"),
        ("a.mo", b"\xde\x12\x04\x95" + b"\xff" * 40, r"damaged, or not of its format"),
        ("a.mo", b"GIF89a", r"damaged, or not of its format"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=rf"{re.escape(name)}: .*({message})"):
        rows(tmp_path / name)


def test_a_catalog_that_was_cut_off_is_refused_with_its_entry(tmp_path: Path) -> None:
    whole = make_mo(PO)
    count, translations = struct.unpack("<i4xi", whole[8:20])
    last = struct.unpack("<2i", whole[translations + 8 * count - 8 : translations + 8 * count])
    (tmp_path / "a.mo").write_bytes(whole[: last[1] + last[0] - 1])
    with pytest.raises(ValueError, match=rf"a\.mo: .*entry {count} lies beyond the end"):
        rows(tmp_path / "a.mo")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"messages": None}, r"message_language = null, but a\.po has messages: set it to 'de' or"),
        ({"messages": "fr"}, r"message_language = 'fr': allowed are 'de', 'en' and null"),
        ({"files": "*.tmx"}, r"files = '\*\.tmx': no file ends in \.tmx"),
        ({"files": "/etc/*.po"}, r"corpus\.files = '/etc/\*\.po': Non-relative"),
    ],
)
def test_what_can_not_be_found_is_told(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    (tmp_path / "a.po").write_text(PO, encoding="utf-8")
    path = tmp_path if "files" in changes else tmp_path / "a.po"
    with pytest.raises(ValueError, match=message):
        rows(path, **changes)
