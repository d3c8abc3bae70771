"""Bringing any corpus into the one raw form."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.files import atomic_folder
from transformer.text.corpus import (
    PARTS,
    SCHEMA,
    SCHEMA_WITH_ORIGIN,
    Pair,
    PairWriter,
    Row,
    part_path,
)
from transformer.text.corpus_config import (
    CorpusConfig,
    HubSource,
    LocalizationSource,
    MixedCorpus,
    PhrasebookCorpus,
    SplitConfig,
    TabularSource,
    TextSource,
)
from transformer.text.manifest import Manifest, Origin, hash_parts, write_manifest
from transformer.text.sources.hub import open_hub
from transformer.text.sources.joined import join_sources, name_origins
from transformer.text.sources.localization import open_localization
from transformer.text.sources.phrasebook import open_phrasebook
from transformer.text.sources.source import Source
from transformer.text.sources.tabular import open_tabular
from transformer.text.sources.text import open_text
from transformer.text.splitting import (
    LEFT_OUT,
    TRAIN,
    TooManyPairsError,
    assign_by_origin,
    assign_parts,
    draw_parts,
)


def collect(config: CorpusConfig, folder: Path) -> Manifest:
    """Writes train, valid and test with a manifest into `folder`: all of it, or nothing.

    Text is kept as it comes; only line ends are cut off. The order of pairs stays. The column
    `origin` is there where the corpus has parts, or tells where pairs come from: the name of the
    part, or else of the corpus, then what the source tells, such as `gnome/po/de.po`.

    Raises:
        ValueError: the corpus can't be read, a part is empty, or it can't be split as asked.
    """
    with open_source(config) as source, atomic_folder(folder) as temporary:
        schema = SCHEMA_WITH_ORIGIN if source.has_origins else SCHEMA
        with ExitStack() as stack:
            writers = {
                part: stack.enter_context(_CountingWriter(part_path(temporary, part), schema))
                for part in PARTS
            }
            num_left_out = _write(source, getattr(config, "split", None), writers)
        for part, writer in writers.items():
            if not writer.num_pairs:
                raise ValueError(
                    f"the part {part!r} of corpus {config.name!r} ({source.origin}) is empty; "
                    "every part needs at least one pair"
                )
        origins = {}
        if isinstance(config, MixedCorpus):
            origins = _describe_origins(config, source, writers)
            license_name = "; ".join(
                f"{name} ({one.counts['train']:,} training pairs): {one.license}"
                for name, one in origins.items()
            )
        else:
            license_name = config.license
        manifest = Manifest(
            name=config.name,
            kind=config.kind,
            origin=source.origin,
            revision=source.revision,
            license=license_name,
            source_language=config.source_language,
            target_language=config.target_language,
            counts={part: writer.num_pairs for part, writer in writers.items()},
            num_empty={part: writer.num_empty for part, writer in writers.items()},
            sha256=hash_parts(temporary),
            origin_sha256=source.sha256,
            num_left_out=num_left_out,
            origins=origins,
        )
        write_manifest(temporary, manifest)
    return manifest


@contextmanager
def open_source(config: CorpusConfig) -> Iterator[Source]:
    """Opens a corpus of any kind. Raises ValueError if it is not there, or not as described."""
    with ExitStack() as stack:
        if isinstance(config, MixedCorpus):
            members = {}
            for name, part in config.parts.items():
                path = (Path(config.path) / part.path).as_posix()
                one = _open(part.model_copy(update={"path": path}), config)
                members[name] = stack.enter_context(one)
            yield join_sources(members, config.path)
        else:
            source = stack.enter_context(_open(config, config))
            yield name_origins(source, config.name) if source.has_origins else source


@contextmanager
def _open(config: Any, corpus: CorpusConfig) -> Iterator[Source]:
    match config:
        case PhrasebookCorpus():
            yield open_phrasebook(config)
        case TextSource():
            yield open_text(config)
        case TabularSource():
            with open_tabular(config) as source:
                yield source
        case LocalizationSource():
            yield open_localization(config, corpus.source_language, corpus.target_language)
        case HubSource():
            yield open_hub(config)


class _CountingWriter(PairWriter):
    """Also counts the pairs with an empty side, and those of each part of the corpus."""

    def __init__(self, path: Path, schema: Any) -> None:
        super().__init__(path, schema)
        self.num_empty = 0
        self.num_by_name = Counter[str]()

    def write(self, row: Row) -> None:
        self.num_empty += not (row[0].strip() and row[1].strip())
        if len(row) > 2:
            self.num_by_name[row[2].partition("/")[0]] += 1
        super().write(row)


def _describe_origins(
    config: MixedCorpus, source: Source, writers: Mapping[str, _CountingWriter]
) -> dict[str, Origin]:
    origins = {}
    for name, part in config.parts.items():
        counts = {one: writer.num_by_name[name] for one, writer in writers.items()}
        if not any(counts.values()):
            raise ValueError(f"corpus.parts.{name} ({source.members[name].origin}) has no pairs")
        origins[name] = Origin(
            kind=part.kind,
            origin=source.members[name].origin,
            revision=source.members[name].revision,
            license=part.license,
            weight=part.weight,
            counts=counts,
        )
    return origins


def _write(source: Source, split: SplitConfig | None, writers: dict[str, Any]) -> int:
    # Returns how many pairs were left out.
    for part in source.parts:
        if part != "train":
            for row in source.parts[part]():
                writers[part].write(row)
    missing = [part for part in PARTS if part not in source.parts]
    read = source.parts["train"]
    if not missing:
        for row in read():
            writers["train"].write(row)
        return 0
    assert split is not None, "the config refuses missing parts without a split"
    sizes = [split.valid_pairs if part == "valid" else split.test_pairs for part in missing]
    assigned = assign_rows(read, source.has_origins, split, sizes, missing)
    destinations = [writers["train"], *(writers[part] for part in missing)]
    assert TRAIN == 0
    num_left_out = 0
    for row, number in zip(read(), assigned, strict=True):
        if number == LEFT_OUT:
            num_left_out += 1
        else:
            destinations[number].write(row)
    return num_left_out


def assign_rows(
    read: Callable[[], Iterable[Row]],
    has_origins: bool,
    split: SplitConfig,
    sizes: Sequence[int],
    names: Sequence[str],
) -> Iterable[int]:
    """Says which part each row belongs to, as the config has it.

    Args:
        read: reads the corpus anew.
        has_origins: whether rows have an origin.
        split: the section `corpus.split`.
        sizes: how many pairs each new part has.
        names: of the new parts, for messages.

    Returns:
        For each row 0 for training, i + 1 for the part of `sizes[i]`, or `LEFT_OUT`.

    Raises:
        ValueError: it can't be split so.
    """

    def pairs() -> Iterator[Pair]:
        return ((row[0], row[1]) for row in read())

    if split.origin_pattern is None:
        try:
            parts = assign_parts(pairs(), sizes, split.seed, names)
        except TooManyPairsError:
            return draw_parts(pairs, sizes, split.seed, names)
        return map(int, parts)
    if not has_origins:
        raise ValueError(
            f"corpus.split.origin_pattern = {split.origin_pattern!r}, but nothing tells where the "
            "pairs come from; set corpus.origin_column, or origin_pattern to null"
        )
    families = _number_families(read(), split.origin_pattern)
    return map(int, assign_by_origin(pairs(), families, sizes, split.seed, names))


def _number_families(rows: Iterable[Row], pattern: str) -> NDArray[np.int64]:
    """Of each pair, what its origin begins with: int64 [N], numbered by first appearance."""
    expression = re.compile(pattern)
    families: dict[str, int] = {}
    numbers = array("q")
    for *_, origin in rows:
        found = expression.match(origin)
        family = found[0] if found else origin
        numbers.append(families.setdefault(family, len(families)))
    return np.frombuffer(numbers, dtype=np.int64)
