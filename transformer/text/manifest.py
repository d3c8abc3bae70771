"""The manifest of a raw corpus: what it is, where it came from, what it holds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer.files import read_json, write_json

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """Facts that go with the corpus through all stages, and onto the model card."""

    name: str
    kind: str
    # Path, URL or id, as the params give it.
    origin: str
    revision: str | None
    license: str
    source_language: str
    target_language: str
    # Pairs of train, valid and test.
    counts: Mapping[str, int]
    # Pairs of each part with an empty side.
    num_empty: Mapping[str, int]
    # Of each part's Parquet file.
    sha256: Mapping[str, str]
    # Of each file that the text was read from, where it came from files.
    origin_sha256: Mapping[str, str]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes `manifest.json`."""
    write_json(folder / MANIFEST, asdict(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Reads `manifest.json`. Raises ValueError if there is none, or it has another form."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{path}: no such file; run the stage `download` to make {folder}")
    value: dict[str, Any] = read_json(path)
    try:
        return Manifest(**value)
    except TypeError as error:
        raise ValueError(
            f"{path} has another form than this version writes ({error}); run `download` again"
        ) from error
