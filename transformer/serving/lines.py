"""Lines of a stream, as they arrive."""

from collections.abc import Iterator
from typing import Protocol

# A read takes what is there, up to this: a pipe's own capacity on Linux.
CHUNK_BYTES = 1 << 16


class ByteStream(Protocol):
    """What binary files, pipes and `io.BytesIO` have in common."""

    def read1(self, size: int, /) -> bytes:
        """At most `size` bytes, with one read at most; none at the end."""


def read_lines(stream: ByteStream, name: str, first: int = 1) -> Iterator[list[str]]:
    """Yields the lines that have arrived, without waiting for more than the first of them.

    So one line typed or sent is answered at once, and a file comes in batches worth translating.

    Args:
        stream: UTF-8, lines ended by LF or CRLF; a byte order mark at its start is dropped.
        name: of the file, for messages.
        first: the number of the first line.

    Raises:
        ValueError: a line is not UTF-8; it is named, and the lines before it have been yielded.
    """
    number, rest, is_open = first - 1, b"", True
    while is_open:
        chunk = stream.read1(CHUNK_BYTES)
        is_open = bool(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if not is_open and rest:
            lines.append(rest)
        texts: list[str] = []
        for line in lines:
            number += 1
            try:
                text = line.removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                if texts:
                    yield texts
                raise ValueError(
                    f"{name}, line {number}: not UTF-8 text (byte {error.start + 1} is "
                    f"0x{error.object[error.start]:02x}); convert it first, for instance with iconv"
                ) from None
            texts.append(text)
        if texts:
            yield texts
