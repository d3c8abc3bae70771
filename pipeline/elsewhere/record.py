"""What the results in a packed folder were made of, written by the stages that made them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pipeline.params import read_params
from pipeline.paths import CHECKPOINT, CLEAN, IDS, PRETRAINED, RAW, SETS, TOKENIZER
from pipeline.repository import code_dependencies, declared, output_paths
from pipeline.tracking.provenance import device_tag, version_tags
from pipeline.tracking.run_names import model_params
from transformer.config import ConfigError, Section, parse_section
from transformer.files import read_json, sha256_file, write_json

# `pack` writes it last: the hashes of all that it packed. At home there is none, and no record.
SUMS = Path("SHA256SUMS")
# In no stage's outputs, which are the same bytes on any day and for any name of a device.
RECORD = Path("made.json")
PackedStage = Literal["train", "evaluate"]
STAGES: tuple[PackedStage, ...] = ("train", "evaluate")


class Made(Section):
    """One stage: what it read, what it wrote, on what. Hashes are SHA-256 by path."""

    params: dict[str, Any]  # by section
    inputs: dict[str, str]
    outputs: dict[str, str]
    machine: dict[str, str]  # as tags of a run in MLflow


class Recorder:
    """Notes what a stage is about to read and, at its end, what it wrote; at home it does nothing.

    It is made before the stage reads anything for long, so that params that are edited meanwhile
    are not taken for those of the training.
    """

    def __init__(self, stage: PackedStage) -> None:
        self._stage = stage
        self._begun = None
        if SUMS.exists():
            self._begun = stage_params(stage), hash_files(input_paths(stage))

    def finish(self) -> None:
        """Writes the record, beside that of the other stage."""
        if self._begun is None:
            return
        params, inputs = self._begun
        made = Made(
            params=params,
            inputs=inputs,
            outputs=hash_files(output_paths(self._stage)),
            machine={"device": device_tag(params[self._stage]["device"])} | version_tags(),
        )
        others = read_json(RECORD) if RECORD.exists() else {}
        write_json(RECORD, others | {self._stage: made.model_dump()})


def read_record(folder: Path) -> dict[PackedStage, Made]:
    """What the stages left in a folder; without those that were not run there.

    Raises:
        ValueError: there is no record, or it has another form.
    """
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(
            f"{path}: no such file; `train` and `evaluate` write it in a folder that "
            "`python -m pipeline pack` made, and it comes back with what they wrote"
        )
    values = read_json(path)
    record: dict[PackedStage, Made] = {}
    problems = [] if isinstance(values, dict) else ["expected a mapping"]
    for stage in STAGES:
        if not problems and stage in values:
            made, problems = parse_section(Made, stage, values[stage])
            if made is not None:
                record[stage] = made
    if problems:
        raise ConfigError(problems, str(path))
    return record


def stage_params(stage: PackedStage) -> dict[str, Any]:
    """The sections of params.yaml that a stage's results depend on, its data's included."""
    if stage == "train":
        return model_params()
    params = read_params()
    return {section: params[section] for section in declared(stage)["params"]}


def input_paths(stage: PackedStage) -> list[Path]:
    """The files and folders that a stage reads: its code by dvc.yaml, and of the data no more."""
    code = code_dependencies(stage)
    if stage == "evaluate":
        parts = [RAW / "test.parquet", RAW / "valid.parquet", CLEAN / "test.parquet"]
        return [*code, *parts, SETS, TOKENIZER, CHECKPOINT]
    train = read_params()["train"]
    paths = [*code, IDS]
    if train["initialize_from"] is not None:
        paths.append(PRETRAINED)
    if train["segmentation"] is not None:
        paths.append(TOKENIZER)
    return paths


def hash_files(paths: Iterable[Path], folder: Path = Path()) -> dict[str, str]:
    """The SHA-256 of each file, by its path below `folder`; folders opened, absent ones left out.

    Args:
        paths: relative to `folder`.
        folder: where they lie.
    """
    files = {
        file
        for path in paths
        for file in [folder / path, *(folder / path).rglob("*")]
        if file.is_file() and "__pycache__" not in file.parts
    }
    return {file.relative_to(folder).as_posix(): sha256_file(file) for file in sorted(files)}
