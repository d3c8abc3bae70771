"""What makes two trainings the same one, so that one may go on where the other was stopped."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipeline.paths import PRETRAINED
from pipeline.repository import hash_code
from transformer.files import sha256_file
from transformer.model.config import ModelConfig
from transformer.pretraining.config import Pretraining
from transformer.text.clean_config import CleanConfig
from transformer.text.ids import META
from transformer.training.config import TrainConfig

# Raise it where a saved state holds something else than before, or where training computes
# something else from the same params and data: states of before are not gone on from then.
FORMAT = 1
# Params that change no weight and no row, but for the order in which numbers are summed.
_WITHOUT_EFFECT = {"save_every_seconds", "num_processes", "num_threads"}
_HASH_CHARACTERS = 16


class Fingerprint(NamedTuple):
    """What a training is known by.

    The name is equal only where the outcome is to be equal, but for rounding. It covers params, the
    bytes of the data, `FORMAT`, and what else the last bits of a product depend on; not how many
    processes and threads sum up the same numbers, which may change on the way, as the code may.
    """

    name: str
    code: Mapping[str, str]  # the SHA-256 of each file that the stage depends on, by its path


def fingerprint_training(config: TrainConfig, model_config: ModelConfig, ids: Path) -> Fingerprint:
    """Of one training.

    Args:
        config: the section `train`.
        model_config: the section `model`.
        ids: the folder that is trained on; the weights to begin with, if the config asks for them,
            are those of the stage `pretrain`.
    """
    # Its meta.json has the hash of each other file, against which `load_ids` holds them.
    data = [ids / META] if config.initialize_from is None else [ids / META, PRETRAINED]
    return _fingerprint("train", config, {"model": model_config.model_dump()}, data)


def fingerprint_pretraining(
    config: Pretraining, model_config: ModelConfig, clean: CleanConfig, data: Iterable[Path]
) -> Fingerprint:
    """Of one pretraining.

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
    return _fingerprint("pretrain", config.train, params, data)


def list_changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files that were edited, added or removed between two fingerprints' code."""
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def _fingerprint(
    stage: Literal["train", "pretrain"],
    config: TrainConfig,
    params: Mapping[str, Any],
    data: Iterable[Path],
) -> Fingerprint:
    facts = {
        "format": FORMAT,
        "stage": stage,
        "train": config.model_dump(exclude=_WITHOUT_EFFECT),
        "params": params,
        "data": {
            f"{place.name}/{path.relative_to(place)}": sha256_file(path)
            for place in data
            for path in sorted([place] if place.is_file() else place.glob("*"))
        },
        "machine": _machine(config.device),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return Fingerprint(digest[:_HASH_CHARACTERS], hash_code(stage))


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
