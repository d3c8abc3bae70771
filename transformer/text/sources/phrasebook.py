"""The corpus that a hand-written grammar makes."""

from functools import partial
from pathlib import Path

from transformer.files import sha256_file
from transformer.text.corpus import PARTS
from transformer.text.corpus_config import PhrasebookCorpus
from transformer.text.phrasebook.expansion import expand
from transformer.text.sources.source import Source


def open_phrasebook(config: PhrasebookCorpus) -> Source:
    """Expands the grammar in the folder `path`.

    Raises:
        ValueError: the folder is missing, or the grammar can't be expanded as asked.
    """
    folder = Path(config.path)
    if not folder.is_dir():
        raise ValueError(f"corpus.path = {config.path}: no such folder of phrasebook files")
    parts = expand(folder, config.num_pairs, config.seed)
    return Source(
        parts={part: partial(iter, parts[part]) for part in PARTS},
        origin=config.path,
        revision=None,
        sha256={
            path.relative_to(folder).as_posix(): sha256_file(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    )
