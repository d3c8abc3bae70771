"""Texts and files through a translator whose graph copies its source in capitals."""

import pytest

from transformer.serving.documents import SUFFIXES, translate_file, translate_texts
from transformer.serving.translator import Translator

PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=0;\\n"

#: a.c:1
#, c-format
msgid "un <b>chat</b>"
msgstr "{0}"

msgid "chat"
msgid_plural "deux chat"
msgstr[0] "{1}"
msgstr[1] "{2}"
msgstr[2] "{2}"

msgid "chien"
msgstr "Hund"

#~ msgid "trois"
#~ msgstr ""
"""
SRT = "1\n00:00:01,000 --> 00:00:02,500\n{}\n\n2\n00:00:03,000 --> 00:00:04,000\n{}\n"
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
    'source-language="fr" target-language="en" datatype="plaintext"><body>'
    '<trans-unit id="1"><source>un <g id="1">chat</g> dort<x id="2"/></source></trans-unit>'
    '<trans-unit id="2" translate="no"><source>un</source></trans-unit>'
    '<trans-unit id="3"><source>un <bpt id="1">&lt;b&gt;</bpt>chat<ept id="1">&lt;/b&gt;</ept>'
    "</source><target>x</target></trans-unit></body></file></xliff>"
)


@pytest.fixture
def translator(make_translator):
    return Translator(make_translator(), "cpu", num_threads=1)


def test_each_format_keeps_its_own(translator):
    texts = ["  un chat\n\ndeux"]
    assert translate_texts(texts, "text", translator) == ["  UN CHAT\n\nDEUX"]
    html = ["<p>un <b>chat</b></p>", "deux &amp; <i>chien</i>"]
    assert translate_texts(html[:1], "html", translator) == ["<p>UN <b>CHAT</b></p>"]
    assert translate_texts(["<a>un <b>chat</b></a>"], "xml", translator) == [
        "<a>UN <b>CHAT</b></a>"
    ]
    assert translate_texts(["# un *chat*"], "markdown", translator) == ["# UN *CHAT*"]


def test_what_is_wrong_with_a_text_is_told(translator):
    with pytest.raises(ValueError, match=r"format = 'rtf' is unknown; there is text, html"):
        translate_texts(["un"], "rtf", translator)
    with pytest.raises(ValueError, match=r"sentence 'un un un un un un un un un un': it has 11"):
        translate_texts(["deux\n" + "un " * 10], "text", translator)
    for last, shown in (("chat", "chat'"), ("chats", "chat…'")):
        with pytest.raises(ValueError, match=rf"sentence 'un{'n' * 35}( un){{6}} {shown}: it has"):
            translate_texts([f"un{'n' * 35}{' un' * 6} {last}"], "text", translator)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "\ufeffun\r\nchat", "\ufeffUN\r\nCHAT"),
        ("A.HTML", "<p>un", "<p>UN"),
        ("a.md", "- un", "- UN"),
        ("a.xml", "<a>un</a>", "<a>UN</a>"),
        ("a.po", PO.format("", "", ""), PO.format("UN <b>CHAT</b>", "CHAT", "DEUX CHAT")),
        ("a.srt", SRT.format("un chat\ndort", "deux"), SRT.format("UN CHAT\nDORT", "DEUX")),
    ],
)
def test_a_file_keeps_all_but_its_text(translator, name, text, expected):
    assert translate_file(name, text.encode(), translator).decode().strip() == expected.strip()


def test_only_empty_targets_of_xliff_are_filled(translator):
    done = translate_file("a.xlf", XLIFF.encode(), translator).decode()
    assert '<target>UN <g id="1">CHAT</g> DORT<x id="2"/></target>' in done
    assert done.count("<target>") == 2
    assert "<target>x</target>" in done


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.docx", b"un", r"a\.docx: unknown kind of file; there is \.txt"),
        ("a.txt", b"PK\x03\x04", "is an archive"),
        ("a.html", b"\x1f\x8b\x08", "is an archive"),
        ("a.txt", b"caf\xe9", r"byte 4 is 0xe9"),
        ("a.xlf", b"<!DOCTYPE x [<!ENTITY a 'b'>]><xliff/>", "document type"),
        ("a.xlf", b"<xliff", r"not a \.xlf file"),
        ("a.xml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", "document type"),
    ],
)
def test_a_file_that_is_none_is_refused(translator, name, data, reason):
    with pytest.raises(ValueError, match=reason):
        translate_file(name, data, translator)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_no_crash(translator, suffix):
    try:
        assert translate_file(f"a{suffix}", b"", translator).strip() == b""
    except ValueError as error:
        assert suffix in str(error)  # noqa: PT017
