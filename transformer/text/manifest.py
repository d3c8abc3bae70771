"""The manifests of data/raw and data/clean: what they are, and the hashes of their parts."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer.files import check_sha256, read_json, sha256_file, write_json
from transformer.text.corpus import PARTS, part_path

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """Facts of a raw corpus that go with the corpus through all stages, and onto the model card."""

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
    # Training pairs that share a sentence with a held-out pair, where a very large corpus was
    # split (`transformer.text.splitting`).
    num_left_out: int = 0


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes `manifest.json`; a zero that mostly stands there is left away."""
    value = asdict(manifest)
    if not manifest.num_left_out:
        del value["num_left_out"]
    write_json(folder / MANIFEST, value)


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


def hash_parts(folder: Path) -> dict[str, str]:
    """The SHA-256 of each part's Parquet file, in hexadecimal."""
    return {part: sha256_file(part_path(folder, part)) for part in PARTS}


def write_hashes(folder: Path) -> None:
    """Writes a `manifest.json` that holds no more than the parts' hashes."""
    write_json(folder / MANIFEST, {"sha256": hash_parts(folder)})


def check_parts(folder: Path, stage: str, parts: Iterable[str] = PARTS) -> None:
    """Holds parts against the hashes in the folder's manifest.

    Args:
        folder: what `stage` wrote.
        stage: which one to run again.
        parts: those that are about to be read.

    Raises:
        ValueError: a part or the manifest is missing, damaged or edited.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{path}: no such file; run the stage `{stage}` to make {folder}")
    value = read_json(path)
    hashes = value.get("sha256") if isinstance(value, dict) else None
    for part in parts:
        if not isinstance(hashes, dict) or not isinstance(hashes.get(part), str):
            raise ValueError(f"{path} holds no hash of the part {part!r}; run `{stage}` again")
        check_sha256(part_path(folder, part), hashes[part], stage)
