"""Corpora of line-aligned text files, as they are or in a zip, such as OPUS ships."""

import zipfile
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from transformer.files import sha256_file
from transformer.text.corpus import PARTS, Pair
from transformer.text.corpus_config import TextSource
from transformer.text.sources.lines import decode_lines, open_bytes, read_lines
from transformer.text.sources.source import Source
from transformer.text.sources.zips import list_members, open_member


class Member(NamedTuple):
    """A file in a zip."""

    archive: Path
    name: str

    def __str__(self) -> str:
        return f"{self.archive}:{self.name}"


def open_text(config: TextSource) -> Source:
    """Opens the files of each part that the config names.

    Raises:
        ValueError: a file is missing, or a zip damaged.
    """
    path = Path(config.path)
    is_zip = path.is_file() and zipfile.is_zipfile(path)
    members = list_members(path, config.path) if is_zip else []
    checksums = {path.name: sha256_file(path)} if is_zip else {}
    parts = {}
    for part in PARTS:
        files = getattr(config, part)
        if files is None:
            continue
        for name in (files.source, files.target):
            if not is_zip:
                open_bytes(path / name).close()
                checksums[name] = sha256_file(path / name)
            elif name not in members:
                raise ValueError(
                    f"corpus.{part}: {name!r} is not in {path}; it holds {', '.join(members)}"
                )
        source, target = (
            Member(path, name) if is_zip else path / name for name in (files.source, files.target)
        )
        parts[part] = partial(read_aligned, source, target)
    return Source(parts=parts, origin=config.path, revision=None, sha256=checksums)


def read_aligned(source: Path | Member, target: Path | Member) -> Iterator[Pair]:
    """Line n of one file with line n of the other.

    Raises:
        ValueError: the files have different numbers of lines, or a line is not UTF-8.
    """
    counts = [0, 0]
    for pair in zip_longest(_read_lines(source), _read_lines(target)):
        counts = [n + (line is not None) for n, line in zip(counts, pair, strict=True)]
        if pair[0] is not None and pair[1] is not None:
            yield pair[0], pair[1]
    if counts[0] != counts[1]:
        raise ValueError(
            f"misaligned: {source} has {counts[0]} lines, {target} has {counts[1]}; from line "
            f"{min(counts) + 1} on there is no partner. Line n of one file must be the "
            "translation of line n of the other"
        )


def _read_lines(file: Path | Member) -> Iterator[str]:
    if isinstance(file, Path):
        yield from read_lines(file)
        return
    with open_member(file.archive, file.name, str(file)) as lines:
        yield from decode_lines(lines, str(file))
