"""One folder with all that the other parts need on a machine that has nothing of it."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.gpu.check import reference_steps
from benchmarks.gpu.project import COMMIT, PROJECT, REFERENCE, TRANSLATOR
from benchmarks.gpu.steps import take_steps
from benchmarks.harness.environment import reason_of
from benchmarks.harness.machine import describe_commit
from pipeline.elsewhere.packing import pack_project
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
    "data/clean/test.parquet",
    "models/checkpoint",
    "models/tokenizer",
)


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
        sizes = {path.name: _mebibytes(path) for path in sorted(temporary.iterdir())}
        if sum(sizes.values()) > MAX_MIB:
            raise ValueError(
                f"{sum(sizes.values()):.0f} MiB are more than {MAX_MIB}: "
                f"{', '.join(f'{name} {size:.1f}' for name, size in sizes.items())}; "
                "give smaller projects"
            )
    return sizes


def _pack_translator(project: Path, folder: Path) -> None:
    missing = [part for part in _TRANSLATOR_PARTS if not (project / part).exists()]
    if missing:
        raise ValueError(f"{project}: {', '.join(missing)} missing; run `dvc repro evaluate` there")
    for part in _TRANSLATOR_PARTS:
        target = folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (project / part).is_dir():
            shutil.copytree(project / part, target)
        else:
            shutil.copyfile(project / part, target)
    _export(project, folder)


def _export(project: Path, folder: Path) -> None:
    """Writes `models/translator` of the project with both precisions into the folder."""
    from ruamel.yaml import YAML

    yaml = YAML()
    params = yaml.load((project / "params.yaml").read_text(encoding="utf-8"))
    params["export"]["precisions"] = ["float32", "float16"]
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for part in _TRANSLATOR_PARTS[1:]:
            (copy / part).parent.mkdir(parents=True, exist_ok=True)
            (copy / part).symlink_to(project / part)
        with (copy / "params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)
        code = "from pipeline.stages.export import export; export()"
        root = Path(__file__).parents[2]
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"],
            cwd=copy,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise ValueError(f"{project} can't be exported: {done.stderr[-2000:]}")
        shutil.copytree(copy / "models/translator", folder / "models/translator")


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
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"pip can't download {', '.join(names)}: {reason_of(done.stderr)}")


def _mebibytes(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20
