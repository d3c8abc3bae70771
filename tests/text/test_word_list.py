"""The words of a training text, and those that it never had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.word_list import WordList, most_frequent_words, write_words


def test_the_most_frequent_words_come_first_and_are_bounded():
    texts = ["Le chat, le chien.", "le chat", "un chien"]
    assert most_frequent_words(texts, min_count=1) == ["le", "chat", "chien", "un"]
    assert most_frequent_words(texts, limit=2, min_count=1) == ["le", "chat"]
    assert most_frequent_words(texts) == ["le", "chat", "chien"]


@given(st.lists(st.text()))
def test_a_text_has_every_word_of_its_own(texts):
    known = WordList(most_frequent_words(texts, min_count=1))
    assert [known.missing(text) for text in texts] == [[] for _ in texts]


def test_missing_words_are_named_once_as_they_stand():
    known = WordList(["je", "m", "appelle", "et", "elle"])
    text = "Je m'appelle Ngozi, et elle Zoé-Ngozi. NGOZI !"
    assert known.missing(text) == ["Ngozi", "Zoé"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l'été d’Ana", ["l", "été", "d", "Ana"]),
        ("porte-clés", ["porte", "clés"]),
        ("à 5h30, le 2e A4 covid19 !", ["à", "le"]),
        ("", []),
        ("हिन्दी", ["हिन्दी"]),
        ("我的iPhone手机 ひらがな ไทย", ["iPhone"]),
    ],
)
def test_a_word_is_a_run_of_letters_of_a_script_with_spaces(text, words):
    assert WordList([]).missing(text) == words


def test_a_written_list_is_read_back(tmp_path):
    words = most_frequent_words(["Où est-ce ?", "हिन्दी"], min_count=1)
    write_words(tmp_path / "words.txt", words)
    assert (tmp_path / "words.txt").read_bytes() == "ce\nest\noù\nहिन्दी\n".encode()
    assert WordList.load(tmp_path / "words.txt").missing("ce hic") == ["hic"]
