"""Cutting texts into sentences."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["I came.", "I saw.", "I won!"],
        ["Va !", "Cours !"],
        ["Qui est-ce ?", "« C'est moi ! »", "Entrez."],
        ['He said: "Go!"', "Then he left."],
        ["Wait...", "What?!", "No."],
        ["Wirklich?", "Über uns fliegt etwas."],
        ["Really…", "Yes."],
        ["¿Qué?", "¡Nada!"],
        ["मैं जाता हूँ।", "वह आता है।"],
        ["He has 1,000.", "She has none."],
        ["Wirklich?", "»Ja«, sagte er."],
    ],
)
def test_sentences_are_found_again(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "Mr. Smith met Mrs. Jones on Mt. Fuji.",
        "Mme. Curie et M. Dupont arrivent.",
        "Am 3. Mai fliegen wir.",
        "J. S. Bach wrote it.",
        "I paid 3.50 euros.",
        "The U.S. Army came.",
        "« Quoi ? » demanda-t-il.",
        "Well... maybe not.",
        "z.B. Brot",
        "Yahoo! is a company.",
    ],
)
def test_what_only_looks_like_an_end_does_not_cut(sentence: str) -> None:
    assert split_sentences(sentence) == [sentence]


def test_scripts_without_spaces() -> None:
    assert split_sentences("你好。你是谁？“我是他。”好！") == [
        "你好。",
        "你是谁？",
        "“我是他。”",
        "好！",
    ]
    assert split_sentences("你要去嗎?我不去!好。") == ["你要去嗎?", "我不去!", "好。"]
    assert split_sentences("列夫.托尔斯泰") == ["列夫.托尔斯泰"]


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []


def test_text_without_an_end_mark_is_one_sentence() -> None:
    assert split_sentences("no end") == ["no end"]


@given(st.text(st.sampled_from("aA1 .!?…。»\"'")))
def test_only_spaces_are_lost(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


# The last ones repeat whatever a seed draws from all that the rules look at.
_random = Random(1)
_REPEATED = [
    ("bon bon.", ")"),
    ("bon " * 300 + ".", ")"),
    ("Well", "!"),
    ("Well", " ?"),
    ("", "A. "),
    ("", "a.b"),
    ("", '." '),
    ("Go. ", "("),
    ("", "“好！”"),
    ("Go?", " »"),
    *(
        ("Oui.", "".join(_random.choices("aA1.!?…。»«\"' )(好-_\u00a0", k=_random.randint(1, 5))))
        for _ in range(30)
    ),
]


@pytest.mark.parametrize(("text", "repeated"), _REPEATED)
def test_time_grows_with_the_length_whatever_the_text(text: str, repeated: str) -> None:
    def seconds(length: int) -> float:
        hostile = text + repeated * (length // len(repeated)) + "x"
        begun = time.process_time()
        split_sentences(hostile)
        return time.process_time() - begun

    # The length doubled three times: 8 times the work, and 64 times if it grew as a square.
    least, most = (min(seconds(length) for _ in range(3)) for length in (10_000, 80_000))
    assert most < 24 * least
