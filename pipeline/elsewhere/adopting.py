"""Results from a packed folder: held against home, and put in the place of home's own."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.elsewhere.packing import copy_path
from pipeline.elsewhere.record import (
    STAGES,
    Made,
    PackedStage,
    hash_files,
    input_paths,
    read_record,
    stage_params,
)
from pipeline.flattening import list_changes
from pipeline.paths import CHECKPOINT, PARAMS
from pipeline.repository import output_paths, run_dvc
from pipeline.tracking.dvc_lock import LOCK


def adopt_results(folder: Path) -> Made:
    """Takes over what `train` and `evaluate` made elsewhere, and commits it to DVC.

    `dvc.lock` is then as if they had run here.

    Args:
        folder: what came back: the outputs of both stages and the record.

    Returns:
        What the training was made of, and on what.

    Raises:
        ValueError: it does not fit this project, each mismatch named, or DVC refuses it. Then
            all here is as it was before.
    """
    record = read_record(folder)
    if problems := find_mismatches(folder, record):
        raise ValueError(
            f"{folder} does not fit this project, so nothing was taken over:\n  "
            + "\n  ".join(problems)
            + "\nmake here what it was made of, or pack this project and train it there"
        )
    with _taken_over(folder, [path for stage in STAGES for path in output_paths(stage)]):
        try:
            run_dvc("commit", "--force", *STAGES)
        except ValueError as error:
            raise ValueError(
                f"DVC does not take {folder}, so all is as it was before: {error}"
            ) from None
    return record["train"]


def find_mismatches(folder: Path, record: Mapping[PackedStage, Made]) -> list[str]:
    """Every way in which results from elsewhere are not those of this project, one line each.

    Args:
        folder: what came back.
        record: what it says of itself.
    """
    problems = [
        f"{stage} was not run there: `python -m pipeline {stage}`"
        for stage in STAGES
        if stage not in record
    ]
    here: dict[str, str] = {}
    there: dict[str, str] = {}
    for stage, made in record.items():
        problems += [
            f"{PARAMS}: {key} is {mine} here, {theirs} there"
            for key, (mine, theirs) in list_changes(stage_params(stage), made.params).items()
        ]
        came = hash_files(output_paths(stage), folder)
        problems += _compare(came, made.outputs, f"in {folder}", f"when {stage} wrote it")
        here |= hash_files(path for path in input_paths(stage) if path != CHECKPOINT)
        there |= {name: digest for name, digest in made.inputs.items() if not _is_model(name)}
    problems += _compare(here, there, "here", "there")
    if len(record) == len(STAGES):
        trained, evaluated = record["train"].outputs, record["evaluate"].inputs
        if any(trained[name] != evaluated.get(name) for name in trained if _is_model(name)):
            problems.append(
                f"{CHECKPOINT} was trained after `evaluate` there: `python -m pipeline evaluate`"
            )
    return problems


def _is_model(name: str) -> bool:
    # An input of `evaluate`, but not of this place: it comes from there too.
    return Path(name).is_relative_to(CHECKPOINT)


def _compare(
    ours: Mapping[str, str], theirs: Mapping[str, str], where: str, there: str
) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            one, other = (hashes.get(name, "missing")[:12] for hashes in (ours, theirs))
            yield f"{name}: {one} {where}, {other} {there}"


@contextmanager
def _taken_over(folder: Path, paths: Sequence[Path]) -> Iterator[None]:
    # Puts `paths` of `folder` in place; if the block fails, they and dvc.lock are as before.
    with tempfile.TemporaryDirectory(prefix=".adopt.", suffix=".tmp", dir=Path()) as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        for path in paths:
            copy_path(folder / path, new / path)
        if LOCK.exists():
            copy_path(LOCK, old / LOCK)
        try:
            for path in paths:
                if path.exists():
                    _move(path, old / path)
                _move(new / path, path)
            yield
        except BaseException:
            for path in (*paths, LOCK):
                if not (new / path).exists():
                    _remove(path)
                if (old / path).exists():
                    _move(old / path, path)
            raise


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
