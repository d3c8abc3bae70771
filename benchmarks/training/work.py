"""What every contender trains on, in the forms that they read."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "work.json"
PARAMS = "params.yaml"
TEXT = "text"
# Endings of the peers' text files.
SOURCE, TARGET = "source", "target"
# Steps, epochs or seconds that no run comes to.
NEVER = 10**9


@dataclass(frozen=True)
class TrainingWork:
    """The task of all workers of a run. Standard library only: peers read it too."""

    folder: str  # of this file, of params.yaml and the peers' text
    ids: str  # the folder of token ids
    model: dict[str, Any]  # the section `model`
    train: dict[str, Any]  # the section `train`
    vocab_size: int
    longest: int  # tokens of the longest side, end token included
    device: str
    num_threads: int

    def save(self) -> Path:
        """Writes JSON; returns its path."""
        path = Path(self.folder) / FILE
        path.write_text(json.dumps(asdict(self)))
        return path

    @classmethod
    def load(cls, path: Path) -> "TrainingWork":
        """Reads what `save` wrote."""
        return cls(**json.loads(path.read_text()))

    @property
    def text(self) -> Path:
        """The folder of train.source, train.target, valid.… and vocabulary."""
        return Path(self.folder) / TEXT


def token_names(vocab_size: int, num_special: int) -> list[str]:
    """The names of all ids but the first ones, which are special tokens."""
    return [f"t{id}" for id in range(num_special, vocab_size)]
