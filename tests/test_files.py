"""Files appear whole or not at all."""

import pytest

from transformer.files import atomic_folder, atomic_write, read_json, sha256_file, write_json


def test_a_failed_write_leaves_the_old_file_and_no_debris(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_and_fail():
        with atomic_write(path) as temporary:
            temporary.write_text("new")
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        write_and_fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_takes_the_place_of_the_old_one(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    for text in ("old", "new"):
        with atomic_write(path) as temporary:
            temporary.write_text(text)
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_folder_leaves_the_old_one_and_no_debris(tmp_path):
    folder = tmp_path / "folder"
    with atomic_folder(folder) as temporary:
        (temporary / "a").write_text("old")

    def write_and_fail():
        with atomic_folder(folder) as temporary:
            (temporary / "b").write_text("new")
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        write_and_fail()
    assert [file.name for file in folder.iterdir()] == ["a"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_written_folder_holds_nothing_of_the_old_one(tmp_path):
    folder = tmp_path / "folder"
    for name in ("a", "b"):
        with atomic_folder(folder) as temporary:
            (temporary / name).write_text(name)
    assert [file.name for file in folder.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [folder]


def test_json_is_the_same_for_the_same_value(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": [1.5, "é"]})
    write_json(tmp_path / "b.json", {"a": [1.5, "é"], "b": 1})
    assert sha256_file(tmp_path / "a.json") == sha256_file(tmp_path / "b.json")
    assert read_json(tmp_path / "a.json") == {"a": [1.5, "é"], "b": 1}


def test_json_without_a_meaning_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(tmp_path / "a.json", {"loss": float("nan")})
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(ValueError, match=r"b\.json is not JSON"):
        read_json(tmp_path / "b.json")
