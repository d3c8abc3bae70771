"""Digests are DVC's."""

from pathlib import Path

from pipeline.tracking.digests import content_hash, dvc_digest


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_they_equal_those_that_dvc_computes(folder):
    from dvc_data.hashfile.build import build
    from dvc_data.hashfile.db import HashFileDB
    from dvc_objects.fs.local import LocalFileSystem

    data = write(folder / "data", {"b.txt": "two", "a/ä.txt": "one", "a-b": "", "c": "\r\n"})
    fs = LocalFileSystem()
    database = HashFileDB(fs, str(folder / "cache"))
    for path in (data, data / "c"):
        *_, built = build(database, str(path), fs, "md5", dry_run=True)
        assert dvc_digest(path) == built.hash_info.value


def test_contents_and_names_both_count(folder):
    one, same = write(folder / "1", {"a": "x"}), write(folder / "2", {"a": "x"})
    renamed, edited = write(folder / "3", {"b": "x"}), write(folder / "4", {"a": "y"})
    assert content_hash([one / "a"]) == content_hash([same / "a"])
    assert len({content_hash([p]) for p in (one / "a", renamed / "b", edited / "a")}) == 3
