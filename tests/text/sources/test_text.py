"""Corpora of line-aligned files."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

from transformer.text.corpus_config import TextCorpus, TextFiles
from transformer.text.sources.text import open_text, read_aligned


def corpus(folder: Path, **changes: Any) -> TextCorpus:
    whole = TextCorpus(
        kind="text",
        name="tiny",
        source_language="fr",
        target_language="en",
        license="CC0",
        path=str(folder),
        train=TextFiles(source="train.fr.gz", target="train.en"),
        valid=TextFiles(source="valid.fr", target="valid.en"),
        test=TextFiles(source="valid.fr", target="valid.en"),
        split=None,
    )
    return whole.model_copy(update=changes)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_bytes(text.encode())


def test_parts_can_be_read_twice(tmp_path: Path) -> None:
    write(tmp_path, train_en="Go.\nHi.\n", valid_fr="Oui.\n", valid_en="Yes.")
    (tmp_path / "train.fr.gz").write_bytes(gzip.compress(b"Va !\n\n"))
    source = open_text(corpus(tmp_path))
    for _ in range(2):
        assert list(source.parts["train"]()) == [("Va !", "Go."), ("", "Hi.")]
        assert list(source.parts["valid"]()) == [("Oui.", "Yes.")]
    assert set(source.sha256) == {"train.fr.gz", "train.en", "valid.fr", "valid.en"}


def test_a_separator_inside_a_line_does_not_misalign(tmp_path: Path) -> None:
    write(tmp_path, a_fr="un\u2028deux\ntrois\n", a_en="one two\nthree\n")
    pairs = list(read_aligned(tmp_path / "a.fr", tmp_path / "a.en"))
    assert pairs == [("un\u2028deux", "one two"), ("trois", "three")]


@pytest.mark.parametrize("longer", ["a.fr", "a.en"])
def test_misaligned_files_are_told_with_their_counts(tmp_path: Path, longer: str) -> None:
    write(tmp_path, a_fr="1\n2\n", a_en="1\n2\n")
    with (tmp_path / longer).open("a") as file:
        file.write("3\n4\n")
    counts = r"a\.fr has 4 lines, .*a\.en has 2" if longer == "a.fr" else r"2 lines, .*a\.en has 4"
    with pytest.raises(ValueError, match=f"misaligned: .*{counts}; from line 3 on"):
        list(read_aligned(tmp_path / "a.fr", tmp_path / "a.en"))


def test_a_missing_file_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"train\.fr\.gz: no such file"):
        open_text(corpus(tmp_path))


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    write(tmp_path, train_en="Go.\n")
    with pytest.raises(ValueError, match=r"train\.en/train\.fr\.gz: no such file"):
        open_text(corpus(tmp_path / "train.en"))


def test_a_zip_of_aligned_files_reads_like_a_folder(tmp_path: Path) -> None:
    texts = {"a.fr": "un\ndeux\n", "a.en": "one\ntwo\n", "LICENSE": "CC0"}
    with zipfile.ZipFile(tmp_path / "opus.zip", "w") as archive:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            archive.writestr(name, text)
    files = TextFiles(source="a.fr", target="a.en")
    source = open_text(corpus(tmp_path / "opus.zip", train=files, valid=files, test=files))
    plain = open_text(corpus(tmp_path, train=files, valid=files, test=files))
    for part in ("train", "valid", "test"):
        assert list(source.parts[part]()) == list(plain.parts[part]()) != []
    with pytest.raises(ValueError, match=r"train: 'b\.fr' is not in .*zip; it holds a\.fr, a\.en"):
        open_text(corpus(tmp_path / "opus.zip", train=TextFiles(source="b.fr", target="a.en")))


def test_a_zip_whose_bytes_were_damaged_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "opus.zip", "w") as archive:
        archive.writestr("a.fr", "un\ndeux\n")
        archive.writestr("a.en", "one\ntwo\n")
    data = (tmp_path / "opus.zip").read_bytes()
    (tmp_path / "opus.zip").write_bytes(data.replace(b"two", b"twx"))
    files = TextFiles(source="a.fr", target="a.en")
    source = open_text(corpus(tmp_path / "opus.zip", train=files, valid=files, test=files))
    with pytest.raises(ValueError, match=r"opus\.zip:a\.en: can't be unzipped \(Bad CRC-32"):
        list(source.parts["train"]())
