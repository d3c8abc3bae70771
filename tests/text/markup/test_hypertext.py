"""HTML and XML: tags go with their words, all else stays as it is."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.text.markup.html_reader import read_html
from transformer.text.markup.xml_reader import read_xml

KEPT = (
    "<!DOCTYPE html>\n<html><head><style>un {x}</style></head>\n<body class='un'>",
    "<script>if (a < b) un('<b>chat</b>');</script>",
    "<!-- un chat -->",
    "<pre>  un\n chat</pre>",
    "<p translate=no>un <b>chat</b></p>",
    '<div class="x notranslate">un <div>chat</div></div>',
    "<textarea>un chat</textarea>",
    "<p>  &nbsp; 12 </p>",
    "<svg><text>un</text></svg>",
)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_prose_stays_byte_by_byte(translate, text):
    assert translate(read_html(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("un <b>gros chat</b> noir", "NOIR <b>CHAT GROS</b> UN"),
        ("<b>un <i>gros</i> chat</b> noir", "NOIR <b>CHAT <i>GROS</i> UN</b>"),
        ("<p>\n un\n <b>chat</b>\n</p>", "<p>\n <b>CHAT</b> UN\n</p>"),
        ("un<br>chat", "UN<br>CHAT"),
        ("un <code>a b</code> chat", "CHAT <code>a b</code> UN"),
        ("un <span translate='no'>A</span> chat", "CHAT <span translate='no'>A</span> UN"),
        ("<li>un<li>chat noir", "<li>UN<li>NOIR CHAT"),
        ("un</i> chat", "UN</i> CHAT"),
        ("caf&eacute; &amp; th&#233; &lt;x>", "THÉ &amp; CAFÉ &lt;x&gt;"),
        (
            "<img alt=\"un &quot;chat\" src=x title='l&#39;un'>",
            "<img alt=\"CHAT &quot; UN\" src=x title='UN L&#39;'>",
        ),
        (
            "<a href='?a=1&amp;b' title='un chat'>un chat</a> noir",
            "NOIR <a href='?a=1&amp;b' title='CHAT UN'>CHAT UN</a>",
        ),
    ],
)
def test_tags_go_with_their_words(translate, text, expected):
    assert translate(read_html(text)) == expected


def test_xml_takes_elements_beside_text_into_its_sentences(translate):
    text = (
        '<?xml version="1.0"?>\n<d><t>un chat</t><p>un <b x="a>b">gros <i>chat</i></b> noir<z/></p>'
        '<p>un <k translate="no">deux</k> chat &amp; <!-- c --></p><![CDATA[un <x> &]]></d>'
    )
    assert translate(read_xml(text)) == (
        '<?xml version="1.0"?>\n<d><t>CHAT UN</t><p>NOIR <b x="a>b"><i>CHAT</i> GROS</b> UN<z/></p>'
        '<p>&amp; CHAT <k translate="no">deux</k> UN <!-- c --></p><![CDATA[un <x> &]]></d>'
    )
    cdata = "<d><p><![CDATA[un]]>un <b>chat</b></p></d>"
    assert translate(read_xml(cdata)) == "<d><p><![CDATA[un]]><b>CHAT</b> UN</p></d>"
    assert translate(read_xml("un <b>chat</b>")) == "<b>CHAT</b> UN"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE r [<!ENTITY a "aaaa">]><r>&a;</r>', "document type"),
        ("<a><b></a>", "not well-formed XML: mismatched tag: line 1"),
        ("<a>&nbsp;</a>", "undefined entity"),
        ("<a>\x00</a>", "not well-formed"),
    ],
)
def test_xml_that_is_none_or_could_be_a_bomb_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_xml(text)


class Nesting(HTMLParser):
    """Fails where a closing tag isn't that of the last open one."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(self.get_starttag_text())
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(self.get_starttag_text())

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def nested(children):
    tag = st.sampled_from(("b", "i", "span", "p", "code", "sup", "x-y"))
    return st.lists(
        st.one_of(children, st.builds("<{0} n='1'>{1}</{0}>".format, tag, children)), max_size=4
    ).map(" ".join)


MARKUP = st.recursive(
    st.sampled_from(
        ("un", "chat.", "un gros chat", "{x}", "😀", "<br/>", "&amp;", "", "Un ! Deux")
    ),
    nested,
    max_leaves=25,
)


@settings(max_examples=25, deadline=None)
@given(MARKUP)
@pytest.mark.parametrize("read", [read_html, read_xml])
@pytest.mark.parametrize("say", [None, lambda text: "", lambda text: "x " + text + " y."])
def test_what_is_well_formed_stays_so_with_the_same_tags(translate, read, say, text):
    answer = translate(read(text), say) if say else translate(read(text))
    before, after = Nesting(), Nesting()
    before.feed(text)
    after.feed(answer)
    assert not after.open
    assert sorted(after.seen) == sorted(before.seen)
    assert (answer.count("{x}"), answer.count("😀")) == (text.count("{x}"), text.count("😀"))
    read_xml(answer)


@pytest.mark.parametrize(
    "text",
    [
        "<b>" * 500 + "un" + "</b>" * 500,
        "<b>un</b> " * 500,
        "un 😀 " * 500,
        "{" * 500,
        "<!--" * 500,
        "<a b='" * 500,
        "&" * 500,
        "<svg>" * 500,
    ],
)
def test_hostile_html_takes_no_more_than_seconds(translate, text):
    begin = time.perf_counter()
    translate(read_html(text))
    assert time.perf_counter() - begin < 10
