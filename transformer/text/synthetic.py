"""Training text that a translator made, as `synthesize` leaves it and `clean` reads it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow.compute as pc
from pydantic import ConfigDict

from transformer.config import parse_section
from transformer.files import atomic_folder, check_sha256, read_sealed, sha256_file, write_sealed
from transformer.text.corpus import ORIGIN, part_path
from transformer.text.manifest import MANIFEST
from transformer.text.synthetic_share import SyntheticShare

# The origin of such pairs, which no part of a corpus may be called.
SYNTHETIC = "synthetic"
# Of the manifest of a stage that is switched off.
NONE = "none"


@dataclass(frozen=True)
class SyntheticText:
    """What was made, by which translator, and how `clean` shall take it."""

    kind: Literal["distillation", "back_translation"]
    # The translator's, as its card tells them: its own hash, the text that it was trained on.
    model_hash: str
    corpus: str
    license: str
    precision: str
    # Texts that it was asked to translate, those that it could not, translations that reached the
    # length limit, pairs made.
    num_texts: int
    num_untranslatable: int
    num_incomplete: int
    num_pairs: int
    # How often a pair of the corpus comes in training; one that is made comes once.
    original_weight: float
    # What stands before the source of each pair that was made.
    tag: str | None
    # Of the training pairs, those of the corpus included where they are kept.
    train_sha256: str

    __pydantic_config__ = ConfigDict(extra="forbid")


def write_synthetic(folder: Path, made: SyntheticText) -> None:
    """Writes the folder's `manifest.json`."""
    write_sealed(folder / MANIFEST, describe(made))


def write_nothing(folder: Path) -> None:
    """Writes a folder with the manifest of a stage that is switched off."""
    with atomic_folder(folder) as temporary:
        write_sealed(temporary / MANIFEST, describe(None))


def describe(made: SyntheticText | None) -> dict[str, Any]:
    """The manifest's values, for reports."""
    return {"kind": NONE} if made is None else asdict(made)


def read_synthetic(folder: Path) -> SyntheticText | None:
    """What lies in the folder, once the training pairs have proved to be those; None: nothing.

    Raises:
        ValueError: the manifest or the pairs are missing, damaged or edited.
    """
    path = folder / MANIFEST
    values = read_sealed(path, "synthesize")
    if values == {"kind": NONE}:
        return None
    made, problems = parse_section(SyntheticText, "manifest", values)
    if made is None:
        raise ValueError(
            f"{path} has another form than this version writes ({'; '.join(problems)}); "
            "run the stage `synthesize` again"
        )
    check_sha256(part_path(folder, "train"), made.train_sha256, "synthesize")
    return made


def count_synthetic(table: Any) -> int:
    """How many pairs of a table with the column `origin` were made."""
    return int(pc.sum(pc.equal(table[ORIGIN], SYNTHETIC)).as_py() or 0)


def describe_share(made: SyntheticText, num_pairs: int, num_all: int) -> SyntheticShare:
    """The card's words for `num_pairs` of `num_all` training pairs."""
    return SyntheticShare(
        kind=made.kind,
        model_hash=made.model_hash,
        corpus=made.corpus,
        license=made.license,
        num_pairs=num_pairs,
        share=round(num_pairs / num_all, 6),
    )


def read_share(clean: Path) -> SyntheticShare | None:
    """What the manifest of the cleaned text tells; None: nothing was made.

    Raises:
        ValueError: the manifest is missing, damaged or edited.
    """
    values = read_sealed(clean / MANIFEST, "clean").get("synthetic")
    return None if values is None else SyntheticShare(**values)


def hash_train(folder: Path) -> str:
    """The SHA-256 of the folder's training pairs."""
    return sha256_file(part_path(folder, "train"))
