"""Bringing any corpus into the one raw form."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from transformer.files import atomic_folder
from transformer.text.corpus import PARTS, Pair, PairWriter, part_path
from transformer.text.corpus_config import CorpusConfig, SplitConfig
from transformer.text.manifest import Manifest, hash_parts, write_manifest
from transformer.text.sources.hub import open_hub
from transformer.text.sources.phrasebook import open_phrasebook
from transformer.text.sources.source import Source
from transformer.text.sources.tabular import open_tabular
from transformer.text.sources.text import open_text
from transformer.text.splitting import (
    LEFT_OUT,
    TRAIN,
    TooManyPairsError,
    assign_parts,
    draw_parts,
)


def collect(config: CorpusConfig, folder: Path) -> Manifest:
    """Writes train, valid and test with a manifest into `folder`: all of it, or nothing.

    Text is kept as it comes; only line ends are cut off. The order of pairs stays.

    Raises:
        ValueError: the corpus can't be read, a part is empty, or it can't be split as asked.
    """
    with open_source(config) as source, atomic_folder(folder) as temporary:
        with ExitStack() as stack:
            writers = {
                part: stack.enter_context(_CountingWriter(part_path(temporary, part)))
                for part in PARTS
            }
            num_left_out = _write(source, getattr(config, "split", None), writers)
        for part, writer in writers.items():
            if not writer.num_pairs:
                raise ValueError(
                    f"the part {part!r} of corpus {config.name!r} ({source.origin}) is empty; "
                    "every part needs at least one pair"
                )
        manifest = Manifest(
            name=config.name,
            kind=config.kind,
            origin=source.origin,
            revision=source.revision,
            license=config.license,
            source_language=config.source_language,
            target_language=config.target_language,
            counts={part: writer.num_pairs for part, writer in writers.items()},
            num_empty={part: writer.num_empty for part, writer in writers.items()},
            sha256=hash_parts(temporary),
            origin_sha256=source.sha256,
            num_left_out=num_left_out,
        )
        write_manifest(temporary, manifest)
    return manifest


def open_source(config: CorpusConfig) -> AbstractContextManager[Source]:
    """Opens a corpus of any kind. Raises ValueError if it is not there, or not as described."""
    match config.kind:
        case "phrasebook":
            return nullcontext(open_phrasebook(config))
        case "text":
            return nullcontext(open_text(config))
        case "tabular":
            return open_tabular(config)
        case "hub":
            return nullcontext(open_hub(config))


class _CountingWriter(PairWriter):
    """Also counts the pairs with an empty side."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.num_empty = 0

    def write(self, pair: Pair) -> None:
        self.num_empty += not (pair[0].strip() and pair[1].strip())
        super().write(pair)


def _write(source: Source, split: SplitConfig | None, writers: dict[str, Any]) -> int:
    # Returns how many training pairs were left out.
    for part in source.parts:
        if part != "train":
            for pair in source.parts[part]():
                writers[part].write(pair)
    missing = [part for part in PARTS if part not in source.parts]
    read = source.parts["train"]
    if not missing:
        for pair in read():
            writers["train"].write(pair)
        return 0
    assert split is not None, "the config refuses missing parts without a split"
    sizes = [split.valid_pairs if part == "valid" else split.test_pairs for part in missing]
    assigned: Iterable[int]
    try:
        assigned = assign_parts(read(), sizes, split.seed, missing).tolist()
    except TooManyPairsError:
        assigned = draw_parts(read, sizes, split.seed, missing)
    destinations = [writers["train"], *(writers[part] for part in missing)]
    assert TRAIN == 0
    num_left_out = 0
    for pair, number in zip(read(), assigned, strict=True):
        if number == LEFT_OUT:
            num_left_out += 1
        else:
            destinations[number].write(pair)
    return num_left_out
