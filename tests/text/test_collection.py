"""From any corpus to data/raw: all of it, or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from transformer.files import seal, sha256_file, write_sealed
from transformer.text import splitting
from transformer.text.collection import collect
from transformer.text.corpus import PARTS, part_path, read_pairs
from transformer.text.corpus_config import (
    PhrasebookCorpus,
    SplitConfig,
    TabularCorpus,
    TextCorpus,
    TextFiles,
)
from transformer.text.manifest import check_parts, read_manifest
from transformer.text.sources import phrasebook

COMMON: dict[str, Any] = {
    "name": "tiny",
    "source_language": "fr",
    "target_language": "en",
    "license": "CC0",
}


def text_corpus(folder: Path, **changes: Any) -> TextCorpus:
    files = {
        part: TextFiles(source=f"{part}.fr", target=f"{part}.en") for part in ("train", "test")
    }
    split = SplitConfig(valid_pairs=3, test_pairs=99, seed=1, origin_pattern=None)
    values = COMMON | files | {"kind": "text", "path": str(folder), "valid": None, "split": split}
    return TextCorpus(**values | changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for part, count in (("train", 20), ("test", 4)):
        for side in ("fr", "en"):
            lines = [f"{part} {side} {number}\n" for number in range(count)]
            (folder / f"{part}.{side}").write_text("".join(lines))
    return folder


def parts(raw: Path) -> dict[str, list[tuple[str, str]]]:
    return {part: list(read_pairs(part_path(raw, part))) for part in PARTS}


def test_only_the_missing_part_is_taken_from_training(tmp_path: Path, folder: Path) -> None:
    raw = tmp_path / "raw"
    manifest = collect(text_corpus(folder), raw)
    found = parts(raw)
    assert manifest.counts == {"train": 17, "valid": 3, "test": 4}
    assert found["test"] == [(f"test fr {n}", f"test en {n}") for n in range(4)]
    whole = [(f"train fr {n}", f"train en {n}") for n in range(20)]
    assert sorted(found["train"] + found["valid"]) == sorted(whole)
    assert found["train"] == [pair for pair in whole if pair not in found["valid"]]


def test_the_manifest_tells_what_stands_beside_it(tmp_path: Path, folder: Path) -> None:
    (folder / "test.en").write_text("one\n\n \nfour\n")
    raw = tmp_path / "raw"
    assert collect(text_corpus(folder), raw) == read_manifest(raw)
    manifest = read_manifest(raw)
    assert manifest.sha256 == {part: sha256_file(part_path(raw, part)) for part in PARTS}
    assert manifest.num_empty == {"train": 0, "valid": 0, "test": 2}
    assert manifest.origin_sha256["test.en"] == sha256_file(folder / "test.en")
    assert (manifest.kind, manifest.license, manifest.origin) == ("text", "CC0", str(folder))


def test_twice_gives_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    for name in ("a", "b"):
        collect(text_corpus(folder), tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["manifest.json", "test.parquet", "train.parquet", "valid.parquet"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_table_is_split_into_all_three(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("".join(f"en {n}\tfr {n}\n" for n in range(20)))
    config = TabularCorpus(
        **COMMON,
        kind="tabular",
        path=str(tmp_path / "x.tsv"),
        url=None,
        sha256=None,
        member=None,
        source_column=2,
        target_column=1,
        origin_column=None,
        split=SplitConfig(valid_pairs=3, test_pairs=4, seed=1, origin_pattern=None),
    )
    assert collect(config, tmp_path / "raw").counts == {"train": 13, "valid": 3, "test": 4}


def test_a_very_large_table_is_split_by_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splitting, "MAX_GROUPED_PAIRS", 9)
    (tmp_path / "x.tsv").write_text("".join(f"en {n}\tfr {n}\n" * 2 for n in range(20)))
    config = TabularCorpus(
        **COMMON,
        kind="tabular",
        path=str(tmp_path / "x.tsv"),
        url=None,
        sha256=None,
        member=None,
        source_column=2,
        target_column=1,
        origin_column=None,
        split=SplitConfig(valid_pairs=3, test_pairs=4, seed=1, origin_pattern=None),
    )
    manifest = collect(config, tmp_path / "raw")
    assert manifest.counts == {"train": 26, "valid": 3, "test": 4}
    assert manifest.num_left_out == 7
    assert read_manifest(tmp_path / "raw") == manifest


def test_a_phrasebook_comes_in_its_own_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expand(folder: Path, num_pairs: int, seed: int) -> dict[str, list[tuple[str, str]]]:
        return {part: [(f"{part} {n}", f"{seed}") for n in range(num_pairs)] for part in PARTS}

    monkeypatch.setattr(phrasebook, "expand", expand)
    (tmp_path / "book" / "verbs").mkdir(parents=True)
    (tmp_path / "book" / "verbs" / "etre.txt").write_text("être")
    config = PhrasebookCorpus(
        **COMMON, kind="phrasebook", path=str(tmp_path / "book"), num_pairs=2, seed=7
    )
    manifest = collect(config, tmp_path / "raw")
    assert manifest.counts == {"train": 2, "valid": 2, "test": 2}
    assert list(manifest.origin_sha256) == ["verbs/etre.txt"]
    assert parts(tmp_path / "raw")["valid"] == [("valid 0", "7"), ("valid 1", "7")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.fr", b"one line\n", r"misaligned: .*train\.fr has 1 lines, .*has 20"),
        ("test.en", b"a\nb\n\xff\nd\n", r"test\.en, line 3: byte 1 .*not UTF-8"),
        ("train.en", None, r"train\.en: no such file"),
    ],
)
def test_bad_input_leaves_what_was_there(
    tmp_path: Path, folder: Path, name: str, content: bytes | None, message: str
) -> None:
    raw = tmp_path / "raw"
    collect(text_corpus(folder), raw)
    before = parts(raw)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        collect(text_corpus(folder), raw)
    assert parts(raw) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "raw"]


def test_an_empty_part_is_told_and_nothing_is_written(tmp_path: Path, folder: Path) -> None:
    for side in ("fr", "en"):
        (folder / f"test.{side}").write_text("")
    with pytest.raises(ValueError, match=r"the part 'test' of corpus 'tiny' .* is empty"):
        collect(text_corpus(folder), tmp_path / "raw")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_missing_phrasebook_is_told(tmp_path: Path) -> None:
    config = PhrasebookCorpus(
        **COMMON, kind="phrasebook", path=str(tmp_path / "none"), num_pairs=2, seed=7
    )
    with pytest.raises(ValueError, match="none: no such folder of phrasebook files"):
        collect(config, tmp_path / "raw")


def test_a_missing_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"manifest\.json: no such file; run the stage `download`"):
        read_manifest(tmp_path)


def test_a_manifest_of_another_form_is_told(tmp_path: Path) -> None:
    write_sealed(tmp_path / "manifest.json", {"name": "tiny"})
    with pytest.raises(ValueError, match=r"another form than this version writes.*kind: missing"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("part", PARTS)
def test_a_flipped_bit_is_told_with_both_hashes(tmp_path: Path, folder: Path, part: str) -> None:
    raw = tmp_path / "raw"
    collect(text_corpus(folder), raw)
    check_parts(raw, "download")
    path = part_path(raw, part)
    expected = sha256_file(path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(
        ValueError, match=rf"{part}\.parquet is damaged.* run `download` again"
    ) as e:
        check_parts(raw, "download")
    assert sha256_file(path) in str(e.value)
    assert expected in str(e.value)
    check_parts(raw, "download", [other for other in PARTS if other != part])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", None, r"manifest\.json: no such file; run the stage `download`"),
        ("manifest.json", "[]", r"manifest\.json has another form .* run the stage `download`"),
        ("manifest.json", '{"sha256": {"train": 3}}', r"is not sealed.* run the stage `download`"),
        ("manifest.json", json.dumps(seal({"sha256": {"train": 3}})), r"no hash of the part 'tra"),
        ("valid.parquet", None, r"valid\.parquet: no such file; run the stage `download`"),
    ],
)
def test_what_hashes_can_not_be_held_against_is_told(
    tmp_path: Path, folder: Path, name: str, content: str | None, message: str
) -> None:
    raw = tmp_path / "raw"
    collect(text_corpus(folder), raw)
    (raw / name).unlink()
    if content is not None:
        (raw / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        check_parts(raw, "download")
