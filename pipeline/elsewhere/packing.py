"""A folder with all that a machine without DVC, MLflow and datasets needs to train."""

import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from pipeline.elsewhere.record import SUMS, hash_files
from pipeline.params import read_params
from pipeline.paths import CLEAN, IDS, MANIFEST, PARAMS, PRETRAINED, RAW, SETS, TOKENIZER
from transformer.files import atomic_folder

# What `train` and `evaluate` import, directly.
PACKAGES = (
    "filelock",
    "matplotlib",
    "numpy",
    "pyarrow",
    "pydantic",
    "ruamel.yaml",
    "sacrebleu",
    "safetensors",
    "tabulate",
    "tokenizers",
    "torch",
    "tqdm",
    "typer",
    "typing-extensions",
)
REQUIREMENTS = Path("requirements.txt")
ARCHIVE = "project.tar.gz"
STAGES_BEFORE = ("download", "synthesize", "clean", "vocab", "tokenize", "pretrain")

_DISTRIBUTION = "transformer-mt"
_ROOT = Path(__file__).parents[2]
_CODE = (Path("dvc.yaml"), Path("pipeline"), Path("transformer"))
_MIB = 2**20


def pack_project(project: Path, folder: Path) -> list[str]:
    """Writes the project, ready to train, into a folder that is new or empty.

    Its code is this checkout's, its params and data are those that lie in `project`.

    Returns:
        The lines of its requirements.txt: versions as they are installed here, torch's a lower
        bound, since a machine with a GPU has a build of its own.

    Raises:
        ValueError: the folder holds something, or what a stage before `train` makes is missing.
    """
    _require_empty(folder)
    data = _data(project)
    requirements = _list_requirements()
    with atomic_folder(folder) as temporary:
        for root, paths in ((_ROOT, _CODE), (project, [PARAMS, *data])):
            for path in paths:
                copy_path(root / path, temporary / path)
        (temporary / REQUIREMENTS).write_text("".join(f"{line}\n" for line in requirements))
        _write_sums(temporary)
    return requirements


def pack_parts(project: Path, folder: Path, part_mib: int) -> list[str]:
    """`pack_project` as a compressed archive in numbered parts; `cat` and `tar` put it together.

    Args:
        project: as there.
        folder: as there; it holds the parts and their hashes, and nothing else.
        part_mib: how large a part may be, in MiB.

    Returns and raises as `pack_project` does.
    """
    _require_empty(folder)
    with tempfile.TemporaryDirectory() as name, atomic_folder(folder) as temporary:
        packed = Path(name) / "project"
        requirements = pack_project(project, packed)
        with tarfile.open(Path(name) / ARCHIVE, "w:gz") as archive:
            archive.add(packed, packed.name)
        with (Path(name) / ARCHIVE).open("rb") as whole:
            for number, block in enumerate(iter(lambda: whole.read(_MIB), b"")):
                part = temporary / f"{ARCHIVE}.{number // part_mib:04}"
                with part.open("ab") as file:
                    file.write(block)
        _write_sums(temporary)
    return requirements


def require_level(forecasts: Iterable[Any]) -> None:
    """Refuses a project in which a stage before `train` has something to do.

    Args:
        forecasts: what `dvc repro` would do, as `pipeline.experiments.forecast` has it.

    Raises:
        ValueError: which stages, and why.
    """
    from pipeline.experiments.forecast import StageStatus

    behind = [
        f"{one.stage} {one.status.value}: {', '.join(one.reasons)}"
        for one in forecasts
        if one.stage in STAGES_BEFORE and one.status is not StageStatus.UNCHANGED
    ]
    if behind:
        raise ValueError(
            "the stages before `train` are to be run first, by `dvc repro tokenize pretrain`:\n  "
            + "\n  ".join(behind)
        )


def _data(project: Path) -> list[Path]:
    makers = {
        MANIFEST: "download",
        RAW / "test.parquet": "download",
        CLEAN / MANIFEST.name: "clean",
        CLEAN / "test.parquet": "clean",
        TOKENIZER: "vocab",
        IDS: "tokenize",
    }
    if read_params(project / PARAMS)["train"]["initialize_from"] is not None:
        makers[PRETRAINED] = "pretrain"
    missing = [path for path in makers if not (project / path).exists()]
    if missing:
        stages = " ".join(dict.fromkeys(makers[path] for path in missing))
        raise ValueError(
            f"{project}: {', '.join(map(str, missing))} missing; `dvc repro {stages}` there first"
        )
    more = [path for path in (SETS, RAW / "valid.parquet") if (project / path).exists()]
    return [*makers, *more]


def _list_requirements() -> list[str]:
    declared = map(Requirement, metadata.requires(_DISTRIBUTION) or ())
    torch = next(one.specifier for one in declared if one.name == "torch")
    pinned = {name: f"=={Version(metadata.version(name)).public}" for name in PACKAGES}
    return [name + version for name, version in (pinned | {"torch": str(torch)}).items()]


def _require_empty(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(f"{folder} is there already; give a folder that is new or empty")


def copy_path(source: Path, target: Path) -> None:
    """Copies a file, or a folder without what Python compiled; makes the folder above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def _write_sums(folder: Path) -> None:
    # In the form that `sha256sum --check` reads.
    lines = [f"{digest}  {name}\n" for name, digest in hash_files([Path()], folder).items()]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
