"""Exact duplicates by datatrove, run in an environment of its own.

python datatrove_dedup.py FOLDER TASKS: reads FOLDER/documents/*.jsonl, writes FOLDER/kept/.
"""

import sys
from pathlib import Path
from typing import Any

from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.dedup.exact_dedup import (
    ExactDedupConfig,
    ExactDedupFilter,
    ExactDedupSignature,
    ExactFindDedups,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter


def _text(document: Any) -> bytes:
    text: str = document.text
    return text.encode()


def main(folder: Path, tasks: int) -> None:
    """Signatures, duplicates, the rest: three passes, as its examples have them."""
    config = ExactDedupConfig(content_getter=_text)
    documents = str(folder / "documents")
    signatures, found = str(folder / "signatures"), str(folder / "found")
    passes: list[list[Any]] = [
        [JsonlReader(documents), ExactDedupSignature(signatures, config, tasks)],
        [ExactFindDedups(signatures, found, config)],
        [
            JsonlReader(documents),
            ExactDedupFilter(found, config),
            JsonlWriter(str(folder / "kept"), compression=None),
        ],
    ]
    for number, steps in enumerate(passes):
        logs = str(folder / f"logs-{number}")
        LocalPipelineExecutor(steps, tasks=tasks, workers=tasks, logging_dir=logs).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
