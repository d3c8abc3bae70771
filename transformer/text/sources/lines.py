"""Lines of UTF-8 text, numbered for messages."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def open_bytes(path: Path) -> IO[bytes]:
    """Opens a file, gunzipping it if its content is gzip, whatever its name.

    Raises:
        ValueError: there is no such file, or it is a folder.
    """
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "no such file"
        raise ValueError(f"{path}: {what}; correct the path in the section `corpus`")
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP
    return cast(IO[bytes], gzip.open(path, "rb")) if is_gzip else path.open("rb")


def decode_lines(raw_lines: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Lines as text, without their ends. A line ends at "\n" or "\r\n", and at nothing else.

    A byte order mark at the start is skipped. U+2028 and the like are part of a line's text.

    Args:
        raw_lines: lines as a binary file gives them.
        name: the file's name in messages.

    Raises:
        ValueError: bytes that are not UTF-8, or a damaged archive; file, line and byte are named.
    """
    number = 0
    try:
        for number, raw in enumerate(raw_lines, start=1):
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                looks = (
                    "it looks like UTF-16"
                    if number == 1 and line.startswith(_UTF16_MARKS)
                    else "it may be Latin-1 or Windows-1252"
                )
                raise ValueError(
                    f"{name}, line {number}: byte {error.start + 1} of the line "
                    f"(0x{line[error.start]:02x}) is not UTF-8; {looks}; convert it, for example "
                    "with iconv"
                ) from None
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{name}: can't be read after line {number} ({error}); "
            "the file is cut short or damaged; get it again"
        ) from error


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a plain or gzipped file. Raises as `open_bytes` and `decode_lines` do."""
    with open_bytes(path) as file:
        yield from decode_lines(file, str(path))
