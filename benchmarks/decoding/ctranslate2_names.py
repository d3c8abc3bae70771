"""What CTranslate2's vocabularies call our token ids: it speaks in strings."""

import json
from collections.abc import Sequence
from pathlib import Path

FILE = "names.json"


class TokenNames:
    """Names of both vocabularies' ids, one for each.

    Args:
        source: by id.
        target: by id.
    """

    def __init__(self, source: list[str], target: list[str]) -> None:
        self.source = source
        self.target = target
        self._target_ids = {name: id for id, name in enumerate(target)}

    @classmethod
    def load(cls, folder: Path) -> "TokenNames":
        """Reads what `save` wrote."""
        return cls(**json.loads((folder / FILE).read_text()))

    def save(self, folder: Path) -> None:
        """Writes names.json."""
        values = {"source": self.source, "target": self.target}
        (folder / FILE).write_text(json.dumps(values))

    def source_names(self, ids: Sequence[int]) -> list[str]:
        """One name per id."""
        return [self.source[id] for id in ids]

    def target_ids(self, names: Sequence[str]) -> list[int]:
        """One id per name."""
        return [self._target_ids[name] for name in names]


def name_tokens(size: int, *, pad: int, unk: int, bos: int, eos: int) -> list[str]:
    """Names of `size` ids: the marks' usual ones, and the number itself for all others."""
    names = [str(id) for id in range(size)]
    for id, name in {pad: "<pad>", unk: "<unk>", bos: "<s>", eos: "</s>"}.items():
        names[id] = name
    return names
