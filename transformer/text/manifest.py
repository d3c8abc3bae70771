"""The manifests of data/raw and data/clean: what they are, and the hashes of their parts."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from transformer.config import parse_section
from transformer.files import check_sha256, read_sealed, sha256_file, write_sealed
from transformer.text.corpus import PARTS, part_path

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Origin:
    """A part of a corpus of several."""

    kind: str
    # Path, URL or id, as the params give it.
    origin: str
    revision: str | None
    license: str
    weight: float
    # Its pairs in train, valid and test.
    counts: Mapping[str, int]


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
    # Pairs that are in no part, so that the parts share neither sentence nor origin
    # (`transformer.text.splitting`).
    num_left_out: int = 0
    # By name, where there are several.
    origins: Mapping[str, Origin] = field(default_factory=dict)

    __pydantic_config__ = ConfigDict(extra="forbid")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes `manifest.json`."""
    values = asdict(manifest)
    if not manifest.origins:
        del values["origins"]
    write_sealed(folder / MANIFEST, values)


def read_manifest(folder: Path) -> Manifest:
    """Reads `manifest.json`. Raises ValueError if it is missing, changed, or of another form."""
    path = folder / MANIFEST
    manifest, problems = parse_section(Manifest, "manifest", read_sealed(path, "download"))
    if manifest is None:
        raise ValueError(
            f"{path} has another form than this version writes ({'; '.join(problems)}); "
            "run the stage `download` again"
        )
    return manifest


def hash_parts(folder: Path) -> dict[str, str]:
    """The SHA-256 of each part's Parquet file, in hexadecimal."""
    return {part: sha256_file(part_path(folder, part)) for part in PARTS}


def write_hashes(folder: Path, synthetic: Mapping[str, Any] | None = None) -> None:
    """Writes a `manifest.json` with the parts' hashes, and what of the text a translator made."""
    facts = {} if synthetic is None else {"synthetic": synthetic}
    write_sealed(folder / MANIFEST, {"sha256": hash_parts(folder), **facts})


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
    hashes = read_sealed(path, stage).get("sha256")
    for part in parts:
        if not isinstance(hashes, dict) or not isinstance(hashes.get(part), str):
            raise ValueError(f"{path} holds no hash of the part {part!r}; run `{stage}` again")
        check_sha256(part_path(folder, part), hashes[part], stage)
