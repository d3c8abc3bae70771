"""The packed project, as the parts train it."""

from pathlib import Path
from typing import Any

from pipeline.params import load_sections
from transformer.model.config import ModelConfig
from transformer.training.config import TrainConfig

NEVER = 10**9
# In the folder that `pack` writes.
PROJECT, TRANSLATOR, REFERENCE, COMMIT = "project", "translator", "reference.json", "commit.txt"


def load_configs(project: Path, num_steps: int, **changes: Any) -> tuple[ModelConfig, TrainConfig]:
    """The sections `model` and `train` for a few steps without dropout.

    The learning rate is constant after a short warm-up, no state is saved, each step is logged.

    Args:
        project: with params.yaml.
        num_steps: optimizer steps.
        changes: to the section `train`.
    """
    model, train = load_sections(
        ("model", ModelConfig), ("train", TrainConfig), path=project / "params.yaml"
    )
    no_dropout = {"dropout": 0.0, "embedding_dropout": None, "attention_dropout": 0.0}
    values = train.model_dump() | {
        "initialize_from": None,
        "num_processes": 1,
        "learning_rate": 1e-3,
        "schedule": {"kind": "constant", "warmup_steps": min(4, num_steps - 1)},
        "max_epochs": NEVER,
        "max_steps": num_steps,
        "validate_every_steps": None,
        "early_stopping_patience": None,
        "average_checkpoints": 1,
        "accuracy_steps": None,
        "log_every_steps": 1,
        "save_every_seconds": float(NEVER),
    }
    return model.model_copy(update=no_dropout), TrainConfig.model_validate(values | changes)
