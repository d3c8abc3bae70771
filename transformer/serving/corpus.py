"""A file of texts, translated by shards: on this machine's cores, or on a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from transformer.batches import batched
from transformer.compute.shards import map_shards
from transformer.serving.lines import read_lines
from transformer.serving.translator import Translation, Translator, UntranslatableError

# A shard: seconds of work, so that the time to load a translator is small beside it.
SHARD_LINES = 2048


class LineShard(NamedTuple):
    """Some lines of a file, as bytes [start, end) of it."""

    path: Path
    start: int
    end: int
    # The first from 1.
    lines: range

    def __str__(self) -> str:
        return f"{self.path}, lines {self.lines.start} to {self.lines.stop - 1}"


class Answered(NamedTuple):
    """Texts with their translations, as `Translator.translate` gives them."""

    # What a message calls one of the texts, by its number; the first one's number.
    name: str
    first: int
    texts: Sequence[str]  # no more of them than answers
    answers: list[list[Translation]]
    # Why the text that comes next has none.
    problem: str | None


def answer(
    translator: Translator, name: str, first: int, texts: Sequence[str], options: Mapping[str, Any]
) -> Answered:
    """Translates texts up to the first one that can't be; `Answered` tells the arguments."""
    problem = None
    try:
        answers = translator.translate(texts, **options)
    except UntranslatableError as error:
        problem = f"{name} {first + error.index}: {error.reason}"
        texts = texts[: error.index]
        answers = translator.translate(texts, **options)
    return Answered(name, first, texts, answers, problem)


def translate_shards(
    model: Path, shards: Sequence[LineShard], options: Mapping[str, Any], precision: str
) -> Iterator[Answered]:
    """Translates a file's shards on CPUs, each whole or up to the first text that can't be.

    The same on any engine and by any number of workers: no batch spans two shards, and each
    translator has one thread.

    Args:
        model: an exported translator's folder, which each worker reads.
        shards: of a UTF-8 file, a text a line; workers read it.
        options: of `Translator.translate`.
        precision: float32, int8 or float16.

    Raises:
        ValueError: as `map_shards` does. A text that can't be translated is told in what is
            yielded, which ends with it.
    """
    for found in map_shards(partial(translate_shard, model, precision, options), shards):
        yield found
        if found.problem is not None:
            return


def cut_lines(file: Path) -> list[LineShard]:
    """A file's lines in shards; the last one is shorter."""
    shards: list[LineShard] = []
    start, first = 0, 1
    with file.open("rb") as stream:
        for lines in batched(stream, SHARD_LINES):
            end, following = start + sum(map(len, lines)), first + len(lines)
            shards.append(LineShard(file, start, end, range(first, following)))
            start, first = end, following
    return shards


def translate_shard(
    model: Path, precision: str, options: Mapping[str, Any], shard: LineShard
) -> Answered:
    """Translates a shard; the arguments are those of `translate_shards`."""
    first, texts, problem = shard.lines.start, list[str](), None
    try:
        for lines in read_shard(shard):
            texts += lines
    except ValueError as error:
        problem = str(error)
    found = answer(load_translator(model, precision), f"{shard.path}, line", first, texts, options)
    return found if found.problem is not None else found._replace(problem=problem)


def read_shard(shard: LineShard) -> Iterator[list[str]]:
    """The lines of a shard, some at a time. Raises ValueError at one that is not UTF-8."""
    with shard.path.open("rb") as stream:
        stream.seek(shard.start)
        content = BytesIO(stream.read(shard.end - shard.start))
    yield from read_lines(content, str(shard.path), shard.lines.start)


@lru_cache(maxsize=1)
def load_translator(model: Path, precision: str) -> Translator:
    """A worker's translator, of one thread; read once for all of its shards."""
    return Translator(model, "cpu", 1, precision)
