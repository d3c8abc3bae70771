"""Several sources as one, each pair with its origin."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain

from transformer.text.corpus import PARTS, Row
from transformer.text.sources.source import Source


def name_origins(source: Source, name: str) -> Source:
    """The source, whose pairs' origins begin with its name: `gnome`, or `gnome/po/de.po`."""
    parts = {part: partial(_name_rows, read, name) for part, read in source.parts.items()}
    return replace(source, parts=parts, has_origins=True)


def join_sources(sources: Mapping[str, Source], origin: str) -> Source:
    """The sources one after the other.

    Args:
        sources: by name; names hold no slash.
        origin: of the whole.
    """
    named = [name_origins(source, name) for name, source in sources.items()]
    return Source(
        parts={
            part: partial(_chain, [one.parts[part] for one in named if part in one.parts])
            for part in PARTS
            if any(part in one.parts for one in named)
        },
        origin=origin,
        revision=None,
        sha256={
            f"{name}/{file}": digest
            for name, source in sources.items()
            for file, digest in source.sha256.items()
        },
        has_origins=True,
        members=sources,
    )


def _name_rows(read: Callable[[], Iterator[Row]], name: str) -> Iterator[Row]:
    for row in read():
        yield row[0], row[1], "/".join((name, *row[2:]))


def _chain(readings: list[Callable[[], Iterator[Row]]]) -> Iterator[Row]:
    return chain.from_iterable(read() for read in readings)
