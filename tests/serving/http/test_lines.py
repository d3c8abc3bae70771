from hypothesis import given
from hypothesis import strategies as st

from transformer.serving.http.lines import pair_sentences, split_lines


@given(st.text(alphabet=" \t\r\n\u00a0\u2028ab.", max_size=60))
def test_lines_and_what_stands_around_them_make_the_text(text):
    lines, around = split_lines(text)
    made = around[0] + "".join(a + b for a, b in zip(lines, around[1:], strict=True))
    assert made == text
    assert all(line == line.strip() != "" for line in lines)
    assert not any("\n" in line or "\r" in line for line in lines)


def test_a_line_of_spaces_takes_no_time():
    lines, _ = split_lines("a" + " " * 200_000 + "b")
    assert len(lines) == 1


def test_sentences_are_paired_in_their_lines_and_stay_whole_where_one_side_has_more():
    source, target = "Un chat. Deux!\n\n Trois. Dort", "ONE CAT. TWO!\n\n THREE"
    assert list(pair_sentences(source, target)) == [
        ((0, "Un chat."), (0, "ONE CAT.")),
        ((9, "Deux!"), (9, "TWO!")),
        ((16, " Trois. Dort"), (15, " THREE")),
    ]
