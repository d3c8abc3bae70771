"""Saved states of one training on disk, each whole or not at all.

Two slots are written in turn, so the newest state and the one before it share no file. In a slot,
a JSON file names the tensor files that belong to it. Every file's name ends with the start of its
own SHA-256: one that is cut short or damaged does not fit its name. A file is written under a
temporary name, synced to the disk and renamed, the JSON file last, and only then the slot's old
files go. A process that is killed, or a machine that loses power, at any moment costs at most the
state that is being written.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.files import sha256_file
from transformer.training.state import SavedState

_SLOTS = ("a", "b")
_HASH_CHARACTERS = 16


class Found(NamedTuple):
    """The newest state that is sound, and what was wrong with newer ones, a line each."""

    saved: SavedState | None
    path: Path | None  # of its JSON file
    damage: list[str]


class StateStore:
    """The states in one folder, which no other process may write to meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._slots = [_Slot(folder / name) for name in _SLOTS]
        self._newest = 1  # so that the first state goes into the first slot

    def save(self, saved: SavedState) -> None:
        """Writes a state over the older of the two.

        Raises:
            OSError: it can't be written; both are as they were.
        """
        other = 1 - self._newest
        self._slots[other].write(saved)
        self._newest = other

    def load(self) -> Found:
        """Reads the newest sound state. Newer ones, which are damaged, are removed."""
        states = [(path, index) for index, slot in enumerate(self._slots) for path in slot.states()]
        damage = []
        for path, index in sorted(states, key=lambda state: state[0].name, reverse=True):
            try:
                saved = self._slots[index].read(path)
            except ValueError as error:
                damage.append(str(error))
                path.unlink()
            else:
                self._newest = index
                return Found(saved, path, damage)
        return Found(None, None, damage)


class _Slot:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, str] = {}  # group -> file, of what is known to be there

    def states(self) -> list[Path]:
        """One at most, but for a process that was killed before it removed the old one."""
        return list(self._folder.glob("step-*.json"))

    def write(self, saved: SavedState) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        mutable = f"mutable-{saved.step:09d}"
        files = {mutable: self._write_tensors(mutable, saved.mutable)}
        for group, tensors in saved.immutable.items():
            files[group] = self._files.get(group) or self._write_tensors(group, tensors)
        value = {"step": saved.step, "values": saved.values, "mutable": mutable, "files": files}
        text = json.dumps(value)  # writes infinite numbers in Python's own way, and reads them
        state = self._write(
            f"step-{saved.step:09d}", ".json", lambda path: path.write_text(text, encoding="utf-8")
        )
        self._files = files
        for path in self._folder.iterdir():
            if path.name not in (state, *files.values()):
                path.unlink()

    def read(self, path: Path) -> SavedState:
        """Raises ValueError, naming the file, if one is missing or does not fit its name."""
        _check(path)
        value = json.loads(path.read_text(encoding="utf-8"))
        groups = {}
        for group, name in value["files"].items():
            _check(self._folder / name)
            groups[group] = load_file(self._folder / name)
        self._files = value["files"]
        mutable = groups.pop(value["mutable"])
        return SavedState(value["step"], value["values"], mutable, groups)

    def _write_tensors(self, group: str, tensors: Mapping[str, Tensor]) -> str:
        def write(path: Path) -> None:
            try:
                save_file(dict(tensors), path)
            except SafetensorError as error:  # such as a full disk
                raise OSError(f"{path}: {error}") from error

        return self._write(group, ".safetensors", write)

    def _write(self, stem: str, suffix: str, write: Callable[[Path], object]) -> str:
        """Returns the name that the file got."""
        temporary = self._folder / f".{stem}{suffix}.tmp"
        try:
            write(temporary)
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            path = self._folder / f"{stem}.{_hash(temporary)}{suffix}"
            temporary.replace(path)
            _sync_folder(self._folder)
        finally:
            temporary.unlink(missing_ok=True)
        return path.name


def _check(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"{path} is missing")
    if path.name.split(".")[-2] != _hash(path):
        raise ValueError(f"{path} is damaged: its content does not fit the hash in its name")


def _hash(path: Path) -> str:
    return sha256_file(path)[:_HASH_CHARACTERS]


def _sync_folder(folder: Path) -> None:
    # Makes a new name last through a loss of power; only POSIX opens folders for that.
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
