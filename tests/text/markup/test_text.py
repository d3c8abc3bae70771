"""Lines, placeholders and Markdown: what is kept, whatever the translator says."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.text.markup.markdown_reader import read_markdown
from transformer.text.markup.placeholders import find_placeholders
from transformer.text.markup.text_reader import read_text

PLACEHOLDERS = (
    *("{name}", "{{x}}", "${x}", "#{x}", "%{x}", "%s", "%d", "%05.2f", "%(x)d", "%1$s", "%%", "{}"),
    *("{n, plural, one {# chat} other {# chats}}", "https://x.org/a?b=1", "www.x.org", "a.b@x.org"),
    *("`x = 1`", "😀", "👍🏽", "🇫🇷", "1️⃣", "<0>", "<br/>", "&nbsp;", "\ue000", "\U000f0000"),
)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_is_found_whole(placeholder):
    text = f"un {placeholder} chat"
    assert [text[a:b] for a, b, _ in find_placeholders(text)] == [placeholder]


@pytest.mark.parametrize("text", ["50 % des chats", "a < b > c", "5% d'eau", "l'ami, 3.5 (x)"])
def test_what_looks_like_one_is_text(text):
    assert not list(find_placeholders(text))


def test_signs_behind_an_address_are_not_its_own():
    found = [*find_placeholders("(Voir https://x.org/a, ou b@x.org.)")]
    assert [(a, b) for a, b, _ in found] == [(6, 21), (26, 33)]


def test_lines_and_what_stands_at_their_edges_stay(translate):
    text = "  - un chat \r\n\r\n\t1. chien\n> deux\n\n123 …\n"
    assert translate(read_text(text)) == "  - CHAT UN \r\n\r\n\t1. CHIEN\n> DEUX\n\n123 …\n"


def test_each_sentence_is_translated_alone(translate):
    assert translate(read_text("Un chat.  Deux chiens ! Où ?")) == ". CHAT Un  ! CHIENS Deux ? Où"


def test_words_take_their_placeholders_and_tags_along(translate):
    text = "un {a} chat <0>deux <1>trois</1></0> 😀 quatre"
    expected = "QUATRE <0><1>TROIS</1> DEUX</0> CHAT {a} UN 😀"
    assert translate(read_text(text)) == expected


HOSTILE = {
    "nothing": lambda text: "",
    "a copy": lambda text: text,
    "every word twice": lambda text: re.sub(r"\w+", r"\g<0> \g<0>", text),
    "other words": lambda text: "x y",
    "no names": lambda text: re.sub(r"\b[A-Z]\w+", "", text),
    "neither names nor numbers": lambda text: re.sub(r"\b[A-Z]\w+|[0-9]", "", text),
    "small letters": str.lower,
    "slots of its own": lambda text: text + "\U000f0000\U000f0001",
}
WORDS = st.sampled_from(
    (*PLACEHOLDERS, "un", "chat", "l'ami", "Kalomi", "17", ".", "! ", "\n", "<b>", "</b>", "</0>")
)


@pytest.mark.parametrize("say", HOSTILE)
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(WORDS, st.sampled_from(("", " ", "  "))), max_size=25))
def test_every_placeholder_is_kept_once_whatever_the_translator_says(translate, say, words):
    text = "".join(word + space for word, space in words)
    answer = translate(read_text(text), HOSTILE[say])
    found = Counter(text[a:b] for a, b, _ in find_placeholders(text))
    for placeholder, count in found.items():
        assert count <= answer.count(placeholder) <= text.count(placeholder)
    assert answer.count("\n") == text.count("\n")


def test_where_a_name_is_lost_a_number_stands_for_the_placeholder_then_nothing(translate):
    asked = []

    def answer(lost):
        def say(text):
            asked.append(text)
            return re.sub(lost, "", text)

        return translate(read_text("un {a} chat"), say)

    assert answer(r"\b[A-Z]\w+") == "un {a} chat"
    assert asked == ["un David chat", "un 17 chat"]
    asked.clear()
    answer(r"\b[A-Z]\w+|[0-9]")
    assert asked == ["un David chat", "un 17 chat", "un chat"]


def test_more_placeholders_than_masks_are_kept(translate):
    text = "un " + " ".join(f"{{x{n}}}" for n in range(400)) + " chat"
    answer = translate(read_text(text))
    assert sorted(re.findall(r"\{x\d+\}", answer)) == sorted(re.findall(r"\{x\d+\}", text))
    assert "CHAT" in answer


@pytest.mark.parametrize("target", ["<>", "<a(b>", "a.b"])
def test_markdown_puts_addresses_that_need_it_into_brackets(translate, target):
    assert translate(read_markdown(f"un [chat]({target})")) == f"[CHAT]({target}) UN"


def test_markdown_keeps_all_but_its_words(translate):
    text = (
        '---\nt: un\n---\n# un **chat**\n\nun *gros*\n  chat [noir](<a b> "t") `x = 1`\n'
        "- deux\n    1. ![trois](y.png) trois\n\n```\nun chat\n```\n\n    code\n\n"
        "| un | deux |\n|:--|---|\n| `x` | trois chats |\n\n<p>un</p>\n\n[r]: http://x.org\n"
    )
    assert translate(read_markdown(text)) == (
        '---\nt: un\n---\n# **CHAT** UN\n\n`x = 1` [NOIR](a%20b "t") CHAT *GROS* UN\n'
        "- DEUX\n    1. ![trois](y.png) TROIS\n\n```\nun chat\n```\n\n    code\n\n"
        "| UN | DEUX |\n|:--|---|\n| `x` | CHATS TROIS |\n\n<p>un</p>\n\n[r]: http://x.org\n"
    )
