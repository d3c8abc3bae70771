"""A state is on the disk whole or not at all, and damage costs one state."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from transformer.training import state_store
from transformer.training.state import SavedState
from transformer.training.state_store import StateStore


def state(step: int) -> SavedState:
    """Snapshots at every fifth step; the numbers tell the step."""
    snapshots = {
        f"snapshot-{at}": {"w": torch.full((3,), float(at))} for at in range(5, step + 1, 5)
    }
    values = {"best_loss": float("inf"), "rows": [[1, 0.1 + 0.2]]}
    return SavedState(step, values, {"weights/w": torch.full((4, 2), float(step))}, snapshots)


def is_same(a: SavedState, b: SavedState) -> bool:
    def plain(saved):
        tensors = {"mutable": saved.mutable, **saved.immutable}
        return {k: {n: t.tolist() for n, t in group.items()} for k, group in tensors.items()}

    return (a.step, a.values, plain(a)) == (b.step, b.values, plain(b))


def newest_files(folder: Path) -> dict[str, Path]:
    """The files of the newest state, by the first word of their names."""
    newest = max(folder.glob("*/step-*.json"), key=lambda path: path.name)
    return {path.name.split("-")[0]: path for path in newest.parent.iterdir()}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Holds the states of steps 6 and 7."""
    store = StateStore(tmp_path)
    for step in (3, 6, 7):
        store.save(state(step))
    return tmp_path


def test_what_was_saved_is_loaded(folder):
    found = StateStore(folder).load()
    assert is_same(found.saved, state(7))
    assert found.damage == []
    assert found.path.name.startswith("step-000000007.")


def test_an_empty_folder_holds_none(tmp_path):
    assert StateStore(tmp_path / "none").load() == (None, None, [])


def test_two_states_are_kept_and_nothing_else(folder):
    steps = sorted(path.name.split(".")[0] for path in folder.glob("*/step-*.json"))
    assert steps == ["step-000000006", "step-000000007"]
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 2 * 3


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES = {"cut": cut, "flip": flip, "empty": empty, "remove": Path.unlink}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["step", "mutable", "snapshot"])
def test_damage_is_named_and_the_state_before_is_used(folder, kind, damage):
    path = newest_files(folder)[kind]
    DAMAGES[damage](path)
    found = StateStore(folder).load()
    assert is_same(found.saved, state(6))
    if (kind, damage) == ("step", "remove"):  # then there is no newer state
        assert found.damage == []
    else:
        reason = "is missing" if damage == "remove" else "is damaged: its content does not fit"
        (problem,) = found.damage
        assert problem.startswith(f"{path} {reason}")


def test_after_damage_the_sound_state_stays_until_two_newer_ones_are_there(folder):
    cut(newest_files(folder)["mutable"])
    store = StateStore(folder)
    store.load()
    store.save(state(7))
    cut(newest_files(folder)["step"])
    store = StateStore(folder)
    assert store.load().saved.step == 6
    for step in (7, 8):
        store.save(state(step))
    assert is_same(StateStore(folder).load().saved, state(8))
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 2 * 3


def test_damage_to_both_is_named_and_nothing_is_loaded(folder):
    for path in folder.glob("*/mutable-*"):
        cut(path)
    found = StateStore(folder).load()
    assert found.saved is None
    assert ["mutable-000000007" in found.damage[0], "mutable-000000006" in found.damage[1]] == [
        True,
        True,
    ]
    store = StateStore(folder)
    store.save(state(1))
    assert is_same(StateStore(folder).load().saved, state(1))


class Power(BaseException):
    """It is gone."""


OPERATIONS = ("save_file", "write_text", "fsync", "replace", "unlink")


@pytest.mark.parametrize("with_effect", [False, True], ids=["before it", "after it"])
def test_power_that_fails_at_any_operation_leaves_a_whole_state(tmp_path, monkeypatch, with_effect):
    """Dies at the first operation on a file, then at the second, and so on, until none is left."""
    real = {
        "save_file": state_store.save_file,
        "write_text": Path.write_text,
        "fsync": state_store.os.fsync,
        "replace": Path.replace,
        "unlink": Path.unlink,
    }
    left = 0

    def failing(name):
        def operation(*arguments, **keywords):
            nonlocal left
            left -= 1
            if left < 0:
                raise Power  # also for what tidies up
            if left == 0 and not with_effect:
                raise Power
            result = real[name](*arguments, **keywords)
            if left == 0:
                raise Power
            return result

        return operation

    for fail_at in range(1, 100):
        folder = tmp_path / str(fail_at)
        store = StateStore(folder)
        for step in (6, 7, 9):
            store.save(state(step))
        left = fail_at
        with monkeypatch.context() as patch:
            patch.setattr(state_store, "save_file", failing("save_file"))
            patch.setattr(state_store.os, "fsync", failing("fsync"))
            for name in ("write_text", "replace", "unlink"):
                patch.setattr(Path, name, failing(name))
            try:
                store.save(state(10))
                is_complete = True
            except Power:
                is_complete = False
        after = StateStore(folder)
        found = after.load()
        assert found.damage == []
        assert is_same(found.saved, state(found.saved.step))
        assert found.saved.step in ((10,) if is_complete else (9, 10))
        for step in (11, 12):
            after.save(state(step))
        assert not list(folder.rglob(".*"))
        assert len(list(folder.glob("*/step-*.json"))) == 2
        if is_complete:
            break
    assert fail_at > 10
    assert is_complete


def test_a_state_that_can_not_be_written_leaves_the_others(folder, monkeypatch):
    def full(*_):
        raise SafetensorError("No space left on device")

    store = StateStore(folder)
    store.load()
    with monkeypatch.context() as patch:
        patch.setattr(state_store, "save_file", full)
        with pytest.raises(OSError, match="No space left on device"):
            store.save(state(8))
    assert is_same(StateStore(folder).load().saved, state(7))
    store.save(state(8))
    assert is_same(StateStore(folder).load().saved, state(8))


def test_a_snapshot_is_written_once_in_each_slot(tmp_path, monkeypatch):
    written = []
    save_file = state_store.save_file
    monkeypatch.setattr(
        state_store,
        "save_file",
        lambda tensors, path: (written.append(path), save_file(tensors, path)),
    )
    store = StateStore(tmp_path)
    for step in range(5, 10):
        store.save(state(step))
    assert len([path for path in written if "snapshot" in path.name]) == 2
    assert len([path for path in written if "mutable" in path.name]) == 5


def test_values_are_readable_by_a_person(folder):
    value = json.loads(newest_files(folder)["step"].read_text())
    assert value["step"] == 7
    assert value["values"]["rows"] == [[1, 0.1 + 0.2]]
