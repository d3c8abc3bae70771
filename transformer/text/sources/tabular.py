"""Corpora of tab-separated files: plain, gzipped, zipped, local or by URL."""

import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path

from transformer.files import sha256_file
from transformer.text.corpus import Row
from transformer.text.corpus_config import TabularSource
from transformer.text.sources.lines import decode_lines, open_bytes
from transformer.text.sources.source import Source
from transformer.text.sources.zips import list_members, open_member
from transformer.urls import hide_secrets

# Some hosts, manythings.org among them, refuse Python's own name for itself.
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; transformer-mt)"}
_TIMEOUT_SECONDS = 60


@contextmanager
def open_tabular(config: TabularSource) -> Iterator[Source]:
    """Opens the file at `path`, or fetches the one at `url` for as long as the context lasts.

    Raises:
        ValueError: it is missing, can't be fetched, has another SHA-256 than the config asks for,
            or is a zip in which the wanted member can't be told.
    """
    if config.url is None:
        yield _open(config, Path(config.path), config.path)
        return
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        path = Path(folder) / "download"
        _fetch(config.url, path)
        yield _open(config, path, hide_secrets(config.url))


def read_columns(
    lines: Iterable[str],
    name: str,
    source_column: int,
    target_column: int,
    origin_column: int | None = None,
) -> Iterator[Row]:
    """The wanted columns, counted from 1, of tab-separated lines. Lines without text are skipped.

    Raises:
        ValueError: a line has fewer columns than that; file, line and what it holds are named.
    """
    fields = {"source_column": source_column, "target_column": target_column}
    if origin_column is not None:
        fields["origin_column"] = origin_column
    needed = max(fields.values())
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        columns = line.split("\t")
        if len(columns) < needed:
            told = ", ".join(f"corpus.{field} = {column}" for field, column in fields.items())
            raise ValueError(
                f"{name}, line {number}: {len(columns)} column(s), but column {needed} is wanted "
                f"({told}); the line is {line[:80]!r}; columns are separated by tabs"
            )
        pair = columns[source_column - 1], columns[target_column - 1]
        yield pair if origin_column is None else (*pair, columns[origin_column - 1])


def _open(config: TabularSource, path: Path, origin: str) -> Source:
    open_bytes(path).close()
    checksum = sha256_file(path)
    if config.sha256 is not None and checksum != config.sha256:
        raise ValueError(
            f"{origin} has SHA-256 {checksum}, but corpus.sha256 = {config.sha256}; the file has "
            "changed: check it, then set the new value, or null to take any"
        )
    member = _find_member(path, origin, config.member) if zipfile.is_zipfile(path) else None
    if member is None and config.member is not None:
        raise ValueError(
            f"corpus.member = {config.member!r}, but {origin} is not a zip; set it to null"
        )
    columns = config.source_column, config.target_column, config.origin_column
    name = origin.rsplit("/", 1)[-1]
    return Source(
        parts={"train": partial(_read, path, origin, member, columns)},
        origin=origin,
        revision=None,
        sha256={name: checksum},
        has_origins=config.origin_column is not None,
    )


def _read(
    path: Path, origin: str, member: str | None, columns: tuple[int, int, int | None]
) -> Iterator[Row]:
    name = origin if member is None else f"{origin}:{member}"
    with open_bytes(path) if member is None else open_member(path, member, name) as file:
        yield from read_columns(decode_lines(file, name), name, *columns)


def _find_member(path: Path, origin: str, member: str | None) -> str:
    names = list_members(path, origin)
    listed = ", ".join(names) or "nothing"
    if member is not None:
        if member not in names:
            raise ValueError(f"corpus.member = {member!r} is not in {origin}; it holds {listed}")
        return member
    candidates = [
        name
        for name in names
        if Path(name).suffix in (".txt", ".tsv")
        and not Path(name).name.startswith(("_", "."))
        and not name.startswith("__MACOSX/")
    ]
    if len(candidates) != 1:
        raise ValueError(
            f"{origin}: {len(candidates)} of its members could be the text, one is needed; "
            f"set corpus.member to one of: {listed}"
        )
    return candidates[0]


def _fetch(url: str, path: Path) -> None:
    request = urllib.request.Request(url, headers=_HEADERS)
    try:
        with (
            urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer,
            path.open("wb") as file,
        ):
            if url.startswith("https://") and not answer.url.startswith("https://"):
                raise ValueError(
                    f"corpus.url = {hide_secrets(url)} leads to {hide_secrets(answer.url)}, and "
                    "what comes by http can be changed on its way; fetch the file by hand, check "
                    "it, set corpus.path to it and corpus.url to null"
                )
            shutil.copyfileobj(answer, file)
            expected = answer.headers.get("Content-Length")
    except (urllib.error.URLError, OSError, HTTPException) as error:
        raise ValueError(
            f"corpus.url = {hide_secrets(url)} can't be fetched: {error}. Without a network, fetch "
            "the file elsewhere, set corpus.path to it and corpus.url to null"
        ) from error
    if expected is not None and path.stat().st_size != int(expected):
        raise ValueError(
            f"corpus.url = {hide_secrets(url)}: {path.stat().st_size} of {expected} bytes arrived; "
            "try again"
        )
