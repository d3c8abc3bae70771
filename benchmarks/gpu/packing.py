"""One folder with all that the other parts need on a machine that has nothing of it."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.decoding.contenders import file_bytes
from benchmarks.gpu.cells import COMMIT, PROJECT, REFERENCE, TRANSLATOR
from benchmarks.gpu.steps import reference_steps, take_steps
from benchmarks.harness.environment import run_command
from benchmarks.harness.machine import describe_commit
from pipeline.elsewhere.packing import pack_project
from pipeline.params import read_params
from transformer.files import atomic_folder, write_json
from transformer.training.device import tune_process

MAX_MIB = 60
NUM_STEPS = 20
WHEELS = "wheels"
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17)]
# Of the project whose translator is measured.
_TRANSLATOR_PARTS = (
    "params.yaml",
    "data/raw/manifest.json",
    "data/raw/test.parquet",
    "data/clean/manifest.json",
    "data/clean/train.parquet",
    "data/clean/test.parquet",
    "models/checkpoint",
    "models/tokenizer",
)
# Read by its export alone.
_TRAINING_IDS = "data/ids"


def pack(
    folder: Path,
    project: Path,
    translator: Path,
    wheels: Sequence[str],
    python_version: str,
    is_tiny: bool,
) -> dict[str, Any]:
    """Fills the folder.

    Args:
        folder: new or empty.
        project: ready to train; `multi30k` trains it, the other parts train on its ids.
        translator: a project with a trained model, which is exported in float32 and float16.
        wheels: packages to download for the other machine, at the versions that are installed
            here; their requirements too, if missing there, are to be named.
        python_version: of the other machine, such as 3.12.
        is_tiny: two reference steps instead of twenty.

    Returns:
        What it holds, by name: sizes in MiB.

    Raises:
        ValueError: something is missing, or the folder would be larger than 60 MiB.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is there already; give a folder that is new or empty")
    with atomic_folder(folder) as temporary:
        pack_project(project.resolve(), temporary / PROJECT)
        _pack_translator(translator.resolve(), temporary / TRANSLATOR)
        (temporary / COMMIT).write_text(f"{describe_commit() or 'outside git'}\n")
        tune_process(None)
        steps = reference_steps(
            temporary / PROJECT,
            2 if is_tiny else NUM_STEPS,
            device="cpu",
            precision="float32",
            compile=False,
        )
        write_json(temporary / REFERENCE, {"losses": take_steps(steps)["losses"]})
        if wheels:
            _download(wheels, python_version, temporary / WHEELS)
        sizes = {path.name: file_bytes(path) / 2**20 for path in sorted(temporary.iterdir())}
        if sum(sizes.values()) > MAX_MIB:
            raise ValueError(
                f"{sum(sizes.values()):.0f} MiB are more than {MAX_MIB}: "
                f"{', '.join(f'{name} {size:.1f}' for name, size in sizes.items())}; "
                "give smaller projects"
            )
    return sizes


def _pack_translator(project: Path, folder: Path) -> None:
    """Test set, weights, and `models/translator` with both precisions, into the folder."""
    wanted = (*_TRANSLATOR_PARTS, _TRAINING_IDS)
    missing = [part for part in wanted if not (project / part).exists()]
    if missing:
        raise ValueError(f"{project}: {', '.join(missing)} missing; run `dvc repro evaluate` there")
    for part in _TRANSLATOR_PARTS:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (project / part).is_dir() else shutil.copyfile
        copy(project / part, folder / part)
    with tempfile.TemporaryDirectory() as name:
        exported = Path(name) / "project"
        shutil.copytree(folder, exported)
        shutil.copytree(project / _TRAINING_IDS, exported / _TRAINING_IDS)
        params = read_params(exported / "params.yaml")
        params["export"]["precisions"] = ["float32", "float16"]
        write_json(exported / "params.yaml", params)  # which is YAML too
        command = [sys.executable, "-m", "pipeline", "export"]
        run_command(command, cwd=exported, timeout_seconds=None)
        shutil.copytree(exported / "models/translator", folder / "models/translator")


def _download(names: Sequence[str], python_version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--dest", str(folder)]
    command += ["--python-version", python_version]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    try:
        command += [f"{name}=={metadata.version(name)}" for name in names]
    except metadata.PackageNotFoundError as error:
        raise ValueError(f"--wheels: {error.name} is not installed here") from error
    run_command(command)
