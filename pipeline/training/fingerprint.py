"""What makes two trainings the same one, so that one may go on where the other was stopped."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

from pipeline.paths import PRETRAINED
from transformer.files import sha256_file
from transformer.model.config import ModelConfig
from transformer.pretraining.config import Pretraining
from transformer.text.clean_config import CleanConfig
from transformer.training.config import TrainConfig

_ROOT = Path(__file__).parents[1]
# Params that change no weight and no row, but for the order in which numbers are summed.
_WITHOUT_EFFECT = {"save_every_seconds", "num_processes", "num_threads"}
_HASH_CHARACTERS = 16


def training_hash(config: TrainConfig, model_config: ModelConfig, ids: Path) -> str:
    """A name for one training: equal only where the outcome is to be equal, but for rounding.

    It covers params, the bytes of the ids, code, and what else the last bits of a product depend
    on; not how many processes and threads sum up the same numbers, which may change on the way.

    Args:
        config: the section `train`.
        model_config: the section `model`.
        ids: the folder that is trained on; the weights to begin with, if the config asks for them,
            are those of the stage `pretrain`.
    """
    data = [ids] if config.initialize_from is None else [ids, PRETRAINED]
    return _hash("train", config, {"model": model_config.model_dump()}, data)


def pretraining_hash(
    config: Pretraining, model_config: ModelConfig, clean: CleanConfig, data: Iterable[Path]
) -> str:
    """A name for one pretraining, as `training_hash`.

    Args:
        config: the section `pretrain`, switched on.
        model_config: the section `model`.
        clean: the section `clean`.
        data: the files and folders that are read.
    """
    params = {
        "pretrain": config.model_dump(exclude={"train"}),
        "model": model_config.model_dump(),
        "clean": clean.model_dump(),
    }
    return _hash("pretrain", config.train, params, data)


def code_files(stage: Literal["train", "pretrain"]) -> list[Path]:
    """The Python files that a stage depends on by `dvc.yaml`, relative to that file's folder."""
    stages = YAML(typ="safe", pure=True).load(_ROOT / "dvc.yaml")["stages"]
    files: set[Path] = set()
    for name in stages[stage]["deps"]:
        path = _ROOT / name
        if path.suffix == ".py":
            files.add(path)
        elif name.startswith(("pipeline/", "transformer/")):
            files.update(path.rglob("*.py"))
    return sorted(file.relative_to(_ROOT) for file in files)


def _hash(
    stage: Literal["train", "pretrain"],
    config: TrainConfig,
    params: Mapping[str, Any],
    data: Iterable[Path],
) -> str:
    facts = {
        "train": config.model_dump(exclude=_WITHOUT_EFFECT),
        "params": params,
        "data": {
            f"{place.name}/{path.relative_to(place)}": sha256_file(path)
            for place in data
            for path in sorted([place] if place.is_file() else place.glob("*"))
        },
        "code": {file.as_posix(): sha256_file(_ROOT / file) for file in code_files(stage)},
        "machine": _machine(config.device),
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def _machine(device_name: str) -> dict[str, Any]:
    import numpy as np
    import torch

    from transformer.training.device import choose_device

    device = choose_device(device_name).type
    machine: dict[str, Any] = {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device,
    }
    if device == "cpu":
        machine["instructions"] = torch.backends.cpu.get_cpu_capability()
    else:
        machine |= {
            "gpu": torch.cuda.get_device_name(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
        }
    return machine
