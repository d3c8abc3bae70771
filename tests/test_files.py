"""Files appear whole or not at all."""

import json
import os

import pytest

from transformer.files import (
    atomic_folder,
    atomic_write,
    read_json,
    read_sealed,
    seal,
    sha256_file,
    write_json,
    write_sealed,
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes in folders")
def test_what_is_no_file_has_no_hash(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match=f"{path.name} is no file"):
            sha256_file(path)


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


def test_a_sealed_file_is_read_as_written_and_refused_once_edited(tmp_path):
    path = tmp_path / "manifest.json"
    write_sealed(path, {"kind": "none", "sizes": [1.5, 2]})
    assert read_sealed(path, "pretrain") == {"kind": "none", "sizes": [1.5, 2]}
    path.write_text(path.read_text().replace("1.5", "1.6"))
    with pytest.raises(ValueError, match=r"manifest\.json is damaged, or was edited.*`pretrain`"):
        read_sealed(path, "pretrain")
    path.write_text(json.dumps(seal(json.loads(path.read_text()))))
    assert read_sealed(path, "pretrain")["sizes"] == [1.6, 2]


@pytest.mark.parametrize("text", ['{"kind": "none"}', "[]", "3"])
def test_a_file_without_a_seal_asks_for_its_stage(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"not sealed.*run the stage `clean` again"):
        read_sealed(tmp_path / "a.json", "clean")


def test_a_pipe_is_not_read_for_ever(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(ValueError, match="is no file"):
        read_json(tmp_path / "a.json")
    with pytest.raises(ValueError, match="no such file; run the stage `clean`"):
        read_sealed(tmp_path / "a.json", "clean")
