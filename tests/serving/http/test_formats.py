"""Structure stays around what is translated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.serving.http.formats import split_lines, translate_file, translate_texts


def shout(pieces):
    return [piece.upper() for piece in pieces]


@given(st.text(alphabet=" \t\r\n\u00a0\u2028ab.", max_size=60))
def test_lines_and_what_stands_around_them_make_the_text(text):
    lines, around = split_lines(text)
    made = around[0] + "".join(a + b for a, b in zip(lines, around[1:], strict=True))
    assert made == text
    assert all(line == line.strip() != "" for line in lines)
    assert not any("\n" in line or "\r" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("un chat", "UN CHAT"),
        ("  un\r\n\r\n\tdeux  \n", "  UN\r\n\r\n\tDEUX  \n"),
        ("", ""),
        (" \n ", " \n "),
    ],
)
def test_breaks_blank_lines_and_indentation_stay(text, expected):
    assert translate_texts([text], "text", None, shout) == [expected]
    assert translate_file("un.txt", text.encode(), None, shout) == expected.encode()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("un.exe", b"", r"un.exe: .* not supported; there is \.txt"), ("a.txt", b"\xff", r"byte 1")],
)
def test_other_files_are_refused(name, content, said):
    with pytest.raises(ValueError, match=said):
        translate_file(name, content, None, shout)


def test_a_line_of_spaces_takes_no_time():
    lines, _ = split_lines("a" + " " * 200_000 + "b")
    assert len(lines) == 1
