"""From any corpus to data/raw: all of it, or nothing."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.text.test_cleaning import config
from transformer.files import seal, sha256_file, write_sealed
from transformer.text import splitting
from transformer.text.cleaning import clean_corpus
from transformer.text.collection import collect
from transformer.text.corpus import PARTS, part_path, read_pairs, read_side
from transformer.text.corpus_config import (
    MixedCorpus,
    PhrasebookCorpus,
    SplitConfig,
    TabularCorpus,
    TextCorpus,
    TextFiles,
    TextPart,
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


def mixed(folder: Path, **weights: float) -> MixedCorpus:
    """The train files as two parts: names in capitals, and what `folder` has."""
    (folder / "capitals").mkdir(exist_ok=True)
    for side in ("fr", "en"):
        text = (folder / f"train.{side}").read_text().upper().replace("TRAIN", "CAPITALS")
        (folder / "capitals" / f"train.{side}").write_text(text)
    files = TextFiles(source="train.fr", target="train.en")
    values = {key: value for key, value in COMMON.items() if key != "license"}
    parts = {
        name: TextPart(
            kind="text",
            path=path,
            license=name.upper(),
            train=files,
            valid=None,
            test=test,
            weight=weight,
        )
        for (name, weight), path, test in zip(
            weights.items(),
            (".", "capitals"),
            (TextFiles(source="test.fr", target="test.en"), None),
            strict=True,
        )
    }
    split = SplitConfig(valid_pairs=4, test_pairs=9, seed=1, origin_pattern=None)
    return MixedCorpus(kind="mixed", path=str(folder), parts=parts, split=split, **values)


def origins(folder: Path, part: str) -> list[str]:
    return list(read_side(part_path(folder, part), "origin"))


def test_parts_are_one_corpus_that_tells_them_apart(tmp_path: Path, folder: Path) -> None:
    raw = tmp_path / "raw"
    manifest = collect(mixed(folder, small=1.0, large=1.0), raw)
    assert manifest == read_manifest(raw)
    assert manifest.counts == {"train": 36, "valid": 4, "test": 4}
    assert origins(raw, "test") == ["small"] * 4
    for part in ("train", "valid"):
        found = [f"{pair[0].split(' ')[0]}" for pair in parts(raw)[part]]
        told = {"train": "small", "CAPITALS": "large"}
        assert origins(raw, part) == [told[word] for word in found]
    small, large = manifest.origins["small"], manifest.origins["large"]
    assert (small.counts["test"], large.counts["test"]) == (4, 0)
    assert small.counts["train"] + large.counts["train"] == 36
    assert (small.license, large.license) == ("SMALL", "LARGE")
    assert manifest.license.startswith(f"small ({small.counts['train']} training pairs): SMALL; la")
    assert manifest.origin_sha256["large/train.fr"] == sha256_file(folder / "capitals/train.fr")


@pytest.mark.parametrize("times", [1.0, 3.0, 0.5, 2.5])
def test_a_weight_says_how_often_a_pair_is_trained_on(
    tmp_path: Path, folder: Path, times: float
) -> None:
    lines = {side: [f"train {side} {n}\n" for n in range(600)] for side in ("fr", "en")}
    for side, text in lines.items():
        (folder / f"train.{side}").write_text("".join(text))
    collect(mixed(folder, small=times, large=1.0), tmp_path / "raw")
    report = clean_corpus(config(), tmp_path / "raw", tmp_path / "clean")
    counts = Counter(parts(tmp_path / "clean")["train"])
    raw = parts(tmp_path / "raw")["train"]
    low, high = int(times), -int(-times // 1)
    for pair, origin in zip(raw, origins(tmp_path / "raw", "train"), strict=True):
        assert counts[pair] == 1 if origin == "large" else low <= counts[pair] <= high
    assert (
        sum(counts.values()) == report.origins["small"].weighted + report.origins["large"].weighted
    )
    assert report.kept == len(raw)
    assert report.origins["large"].weighted == report.origins["large"].kept
    kept = report.origins["small"].kept
    assert report.origins["small"].weighted == pytest.approx(times * kept, rel=0.1)
    clean_corpus(config(), tmp_path / "raw", tmp_path / "again")
    for name in ("train.parquet", "rejects.jsonl"):
        assert (tmp_path / "clean" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_what_comes_from_one_document_stays_together(tmp_path: Path) -> None:
    rows = [f"doc-{n // 10}-{n % 2}/x\ten {n}\tfr {n}\n" for n in range(200)]
    (tmp_path / "x.tsv").write_text("".join(rows))
    values = COMMON | {
        "kind": "tabular",
        "path": str(tmp_path / "x.tsv"),
        **dict.fromkeys(("url", "sha256", "member")),
        "source_column": 3,
        "target_column": 2,
        "origin_column": 1,
        "split": SplitConfig(valid_pairs=10, test_pairs=20, seed=1, origin_pattern=r"tiny/doc-\d+"),
    }
    raw = tmp_path / "raw"
    collect(TabularCorpus(**values), raw)
    families = {part: {one.rsplit("-", 1)[0] for one in origins(raw, part)} for part in PARTS}
    assert [len(families[part]) for part in PARTS] == [17, 1, 2]
    assert len(set.union(*families.values())) == 20
    with pytest.raises(ValueError, match=r"origin_pattern = .* but nothing tells where"):
        collect(TabularCorpus(**values | {"origin_column": None}), raw)
