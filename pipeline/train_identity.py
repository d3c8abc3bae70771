"""What makes two trainings the same one, so that one may go on where the other was stopped."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pipeline.paths import PRETRAINED
from transformer.files import sha256_file
from transformer.model.config import ModelConfig
from transformer.training.config import TrainConfig

_ROOT = Path(__file__).parents[1]
# The code that training runs through, as `dvc.yaml` lists it for the stage; a test holds the two
# together. A list rather than what happens to be imported, which differs between callers.
CODE = (
    "pipeline/params.py",
    "pipeline/paths.py",
    "pipeline/train.py",
    "pipeline/train_resume.py",
    "pipeline/train_start.py",
    "transformer/config.py",
    "transformer/files.py",
    "transformer/model",
    "transformer/pretraining/__init__.py",
    "transformer/pretraining/initialise.py",
    "transformer/pretraining/store.py",
    "transformer/text/ids.py",
    "transformer/text/special_tokens.py",
    "transformer/text/tokenizer.py",
    "transformer/training",
)
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
    folders = [ids] if config.initialise_from is None else [ids, PRETRAINED]
    facts = {
        "train": config.model_dump(exclude=_WITHOUT_EFFECT),
        "model": model_config.model_dump(),
        "data": {
            path.name: sha256_file(path)
            for folder in folders
            if folder.is_dir()
            for path in sorted(folder.iterdir())
        },
        "code": {file.as_posix(): sha256_file(_ROOT / file) for file in code_files()},
        "machine": _machine(config.device),
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def code_files() -> list[Path]:
    """The Python files of `CODE`, relative to the folder that holds both packages."""
    files: set[Path] = set()
    for name in CODE:
        path = _ROOT / name
        files |= {path} if path.suffix == ".py" else set(path.rglob("*.py"))
    return sorted(file.relative_to(_ROOT) for file in files)


def _machine(device_name: str) -> dict[str, Any]:
    import numpy as np
    import torch

    from transformer.training.device import choose_device

    device = choose_device(device_name).type
    machine = {"torch": torch.__version__, "numpy": np.__version__, "device": device}
    if device == "cpu":
        machine["instructions"] = torch.backends.cpu.get_cpu_capability()
    return machine
