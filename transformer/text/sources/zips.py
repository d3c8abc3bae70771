"""Files in zip archives."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# What the library raises of damaged archives, and of what it does not know.
_UNREADABLE = (
    *(zipfile.BadZipFile, RuntimeError, EOFError, OSError, IndexError, struct.error),
    *(zlib.error, lzma.LZMAError),
)


@contextmanager
def open_member(path: Path, member: str, name: str) -> Iterator[IO[bytes]]:
    """Opens one file of an archive.

    Args:
        path: of the archive.
        member: which it has.
        name: what messages call it.

    Raises:
        ValueError: it can't be unpacked; so, too, while it is read within the context.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            yield file
    except _UNREADABLE as error:
        raise ValueError(f"{name}: can't be unzipped ({error}); unzip it by hand") from error


def list_members(path: Path, name: str) -> list[str]:
    """The files of an archive. Raises ValueError if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except (*_UNREADABLE, ValueError) as error:
        raise ValueError(f"{name}: a damaged zip ({error}); get it again") from error
