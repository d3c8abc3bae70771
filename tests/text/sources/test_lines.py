"""Reading lines: what ends one, what is refused, and in which words."""

import gzip
from pathlib import Path

import pytest

from transformer.text.sources.lines import read_lines


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\r\ni\r\n\n\nlast"
    path = write(tmp_path / "x.txt", text.encode())
    assert list(read_lines(path)) == ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh", "i", "", "", "last"]


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_gzip_is_told_by_content_not_by_name(tmp_path: Path, name: str) -> None:
    assert list(read_lines(write(tmp_path / name, gzip.compress(b"a\nb\n")))) == ["a", "b"]
    assert list(read_lines(write(tmp_path / name, b"a\nb\n"))) == ["a", "b"]


def test_a_byte_order_mark_is_skipped_at_the_start_only(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "\ufeffa\n\ufeffb\n".encode())
    assert list(read_lines(path)) == ["a", "\ufeffb"]


def test_a_file_may_begin_with_an_empty_line(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path / "a", b"\n\tb\n"))) == ["", "\tb"]


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path / "x.txt", b""))) == []


def test_bad_utf8_is_told_with_file_line_and_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "x.fr", b"bon\nl'\xe9t\xe9\n")
    with pytest.raises(
        ValueError, match=r"x\.fr, line 2: byte 3 of the line \(0xe9\) is not UTF-8.*Windows-1252"
    ):
        list(read_lines(path))


def test_utf16_is_recognised(tmp_path: Path) -> None:
    path = write(tmp_path / "x.fr", "bon".encode("utf-16"))
    with pytest.raises(ValueError, match=r"line 1: byte 1 .* looks like UTF-16"):
        list(read_lines(path))


def test_a_cut_archive_is_told_with_the_last_good_line(tmp_path: Path) -> None:
    content = gzip.compress(b"".join(b"line %d\n" % n for n in range(9999)))
    path = write(tmp_path / "x.gz", content[:-40])
    with pytest.raises(ValueError, match=r"x\.gz: can't be read after line \d+ .*cut short"):
        list(read_lines(path))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.txt: no such file; correct the path"):
        list(read_lines(tmp_path / "x.txt"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder, not a file"):
        list(read_lines(tmp_path))
