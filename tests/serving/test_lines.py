"""Lines come out as they went in, as soon as they are there."""

import io
import os

import pytest

from transformer.serving import lines as module
from transformer.serving.lines import read_lines


def lines_of(data: bytes) -> list[str]:
    return [line for batch in read_lines(io.BytesIO(data), "x.txt") for line in batch]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        ("\ufeffdéjà\n\u2028x\n".encode(), ["déjà", "\u2028x"]),
    ],
)
def test_lines_are_split_at_line_feeds_alone(data, expected):
    assert lines_of(data) == expected


def test_chunks_do_not_cut_lines_or_characters(monkeypatch):
    data = "un été\n\nà Noël 🎄\r\nfin".encode()
    whole = lines_of(data)
    for size in range(1, 12):
        monkeypatch.setattr(module, "CHUNK_BYTES", size)
        assert lines_of(data) == whole


def test_a_line_is_given_before_the_next_arrives():
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb", buffering=0) as writer:
        batches = read_lines(reader, "x.txt")
        writer.write(b"un\ndeux\ntr")
        assert next(batches) == ["un", "deux"]
        writer.write(b"ois\n")
        assert next(batches) == ["trois"]


def test_bad_utf8_names_its_line_after_the_good_ones():
    batches = read_lines(io.BytesIO(b"a\nb\nd\xe9j\xe0\nc\n"), "x.txt")
    assert next(batches) == ["a", "b"]
    with pytest.raises(ValueError, match=r"x.txt, line 3: not UTF-8 text \(byte 2 is 0xe9\)"):
        next(batches)
