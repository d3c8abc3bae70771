"""Corpora of line-aligned text files."""

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from transformer.files import sha256_file
from transformer.text.corpus import PARTS, Pair
from transformer.text.corpus_config import TextCorpus
from transformer.text.sources.lines import open_bytes, read_lines
from transformer.text.sources.source import Source


def open_text(config: TextCorpus) -> Source:
    """Opens the files of each part that the config names.

    Raises:
        ValueError: a file is missing.
    """
    folder = Path(config.path)
    parts, checksums = {}, {}
    for part in PARTS:
        files = getattr(config, part)
        if files is None:
            continue
        for name in (files.source, files.target):
            open_bytes(folder / name).close()
            checksums[name] = sha256_file(folder / name)
        parts[part] = partial(read_aligned, folder / files.source, folder / files.target)
    return Source(parts=parts, origin=config.path, revision=None, sha256=checksums)


def read_aligned(source: Path, target: Path) -> Iterator[Pair]:
    """Line n of one file with line n of the other.

    Raises:
        ValueError: the files have different numbers of lines, or a line is not UTF-8.
    """
    counts = [0, 0]
    for pair in zip_longest(read_lines(source), read_lines(target)):
        counts = [n + (line is not None) for n, line in zip(counts, pair, strict=True)]
        if pair[0] is not None and pair[1] is not None:
            yield pair[0], pair[1]
    if counts[0] != counts[1]:
        raise ValueError(
            f"misaligned: {source} has {counts[0]} lines, {target} has {counts[1]}; from line "
            f"{min(counts) + 1} on there is no partner. Line n of one file must be the "
            "translation of line n of the other"
        )
