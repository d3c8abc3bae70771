"""Noise on training sources: what each kind does, how often, and what it leaves alone."""

from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.plain import FOR_NOISE
from transformer.config import ConfigError, parse_section
from transformer.text.clean_config import AugmentConfig, CleanConfig, NormalizationConfig
from transformer.text.cleaning import CleanReport, clean_corpus, normalize_side
from transformer.text.corpus import Pair, part_path, read_pairs, write_pairs
from transformer.text.noise import KINDS, add_noise

NONE = dict.fromkeys(KINDS, 0.0)
FOLDED = NormalizationConfig(lowercase=False, strip_punctuation=False, fold_typography=True)
AS_IS = NormalizationConfig(lowercase=False, strip_punctuation=False, fold_typography=False)
WORDS = ["été", "élève", "garçon", "où", "chat", "maison", "déjà", "voilà", "leçon", "grand"]
# Every source has an accent, a capital, a word of four letters and a mark at its end.
TRAIN = [
    (f"Là {WORDS[n % 10]} {WORDS[n // 10 % 10]} maison n° {n}\u202f?", f"There {n}?")
    for n in range(2000)
]
HELD_OUT = [("Où est-il\u202f?", "Where is he?"), ("À Paris.", "In Paris.")]


def run(
    folder: Path,
    augment: dict[str, float] | None,
    train: list[Pair] = TRAIN,
    source: NormalizationConfig = FOLDED,
    held_out: list[Pair] = HELD_OUT,
    **changes: Any,
) -> CleanReport:
    values: dict[str, Any] = {
        "source": source,
        "target": AS_IS,
        "single_sentence": False,
        "length_unit": "word",
        "max_length": None,
        "max_length_ratio": None,
        "drop_copies": True,
        "drop_leaks": True,
        **FOR_NOISE,
        "drop_duplicates": True,
        "augment": None if augment is None else AugmentConfig(**NONE | augment),
        "num_reject_samples": 0,
        "seed": 1,
    }
    for part, pairs in {"train": train, "valid": held_out, "test": held_out}.items():
        write_pairs(part_path(folder / "raw", part), pairs)
    return clean_corpus(CleanConfig(**values | changes), folder / "raw", folder / "clean")


def read(folder: Path, part: str = "train") -> list[Pair]:
    return list(read_pairs(part_path(folder / "clean", part)))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "clean").iterdir()}


def test_the_config_has_a_share_for_each_kind() -> None:
    assert sorted(AugmentConfig.model_fields) == sorted(KINDS)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_between_0_and_1(share: float) -> None:
    _, problems = parse_section(AugmentConfig, "clean.augment", NONE | {"typo": share})
    assert str(ConfigError(problems)).startswith(
        f"params.yaml: 1 problem\n  clean.augment.typo = {share}: input should be"
    )


@pytest.mark.parametrize(
    ("kind", "text", "noisy"),
    [
        ("lose_accents", "Où ça, Noël? Ångström, smørbrød", "Ou ca, Noel? Angstrom, smørbrød"),
        ("lose_accents", "ばら и й किताब", "ばら и й किताब"),
        ("lose_final_mark", "M. Dupont est là\u202f?!".replace("\u202f", " "), "M. Dupont est là"),
        ("lose_final_mark", "你好吗？", "你好吗"),
        ("lose_final_mark", "...", "..."),
        ("lose_final_mark", "à 3.5 euros", "à 3.5 euros"),
        ("lowercase", "Où est Thomas?", "où est thomas?"),
        ("uppercase", "Où est l'été?", "OÙ EST L'ÉTÉ?"),
        ("title_case", "où est l'été à la mer?", "Où Est L'été À La Mer?"),
        # No word of four letters but a name; no case.
        ("typo", "il va à Tombouctou", "il va à Tombouctou"),
        ("typo", "我不知道火车站在哪里", "我不知道火车站在哪里"),
    ],
)
def test_what_a_kind_of_noise_does(kind: str, text: str, noisy: str) -> None:
    assert add_noise(kind, text, Random(0)) == noisy


def test_a_typo_is_one_edit_behind_the_first_letter_of_one_word() -> None:
    found = {add_noise("typo", "le chat de Thomas", Random(seed)) for seed in range(500)}
    swapped = {"le caht de Thomas", "le chta de Thomas"}
    dropped = {"le cat de Thomas", "le cht de Thomas", "le cha de Thomas"}
    doubled = {"le chhat de Thomas", "le chaat de Thomas", "le chatt de Thomas"}
    beside = {f"le {word} de Thomas" for word in ["cgat", "cjat", "chst", "char", "chay"]}
    assert found == swapped | dropped | doubled | beside


@given(st.text(), st.sampled_from(KINDS), st.integers())
def test_no_text_breaks_any_kind_or_is_left_empty(text: str, kind: str, seed: int) -> None:
    text = normalize_side(text, AS_IS)
    assert bool(add_noise(kind, text, Random(seed))) == bool(text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_1_changes_every_source_and_no_target(tmp_path: Path, kind: str) -> None:
    report = run(tmp_path, {kind: 1.0})
    clean = [(normalize_side(source, FOLDED), target) for source, target in TRAIN]
    assert report.noise == dict.fromkeys(KINDS, 0) | {kind: len(TRAIN)}
    assert report.augmented == report.kept == len(TRAIN)
    for (source, target), (noisy, kept) in zip(clean, read(tmp_path), strict=True):
        assert noisy != source
        assert kept == target
        assert normalize_side(noisy, FOLDED) == noisy
    assert read(tmp_path, "valid") == read(tmp_path, "test")
    assert read(tmp_path, "test")[0] == ("Où est-il?", "Where is he?")


def test_shares_hold_counts_tell_what_changed_and_kinds_are_independent(tmp_path: Path) -> None:
    report = run(tmp_path, {"lose_accents": 0.3, "lose_final_mark": 0.2})
    clean = [normalize_side(source, FOLDED) for source, _ in TRAIN]
    noisy = [source for source, _ in read(tmp_path)]
    without_accents = sum(source.startswith("La ") for source in noisy)
    without_mark = sum(not source.endswith("?") for source in noisy)
    with_both = sum(source.startswith("La ") and source[-1] != "?" for source in noisy)
    assert report.noise["lose_accents"] == without_accents == pytest.approx(600, abs=80)
    assert report.noise["lose_final_mark"] == without_mark == pytest.approx(400, abs=80)
    assert with_both == pytest.approx(120, abs=40)
    changed = sum(before != after for before, after in zip(clean, noisy, strict=True))
    assert report.augmented == changed == without_accents + without_mark - with_both


def test_the_seed_decides(tmp_path: Path) -> None:
    shares = dict.fromkeys(KINDS, 0.2)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(tmp_path / name, shares, seed=seed)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_a_line_has_its_noise_whatever_stands_before_it(tmp_path: Path) -> None:
    shares = dict.fromkeys(KINDS, 0.2)
    run(tmp_path / "all", shares)
    # The first half is dropped, each line keeps its number.
    dropped = [("", target) if n < 1000 else (source, target) for n, (source, target) in
               enumerate(TRAIN)]  # fmt: skip
    run(tmp_path / "half", shares, dropped)
    assert read(tmp_path / "half") == read(tmp_path / "all")[1000:]


def test_no_noise_is_what_zeros_give(tmp_path: Path) -> None:
    none = run(tmp_path / "none", None)
    assert none == run(tmp_path / "zeros", {})
    assert contents(tmp_path / "none") == contents(tmp_path / "zeros")
    assert none.augmented == sum(none.noise.values()) == 0


def test_case_that_normalisation_takes_away_is_not_counted(tmp_path: Path) -> None:
    lowercase = FOLDED.model_copy(update={"lowercase": True})
    report = run(tmp_path, {"uppercase": 1.0, "title_case": 1.0}, source=lowercase)
    assert report.augmented == sum(report.noise.values()) == 0
    both = run(tmp_path, {"uppercase": 1.0, "lose_final_mark": 1.0}, source=lowercase)
    assert both.augmented == both.noise["lose_final_mark"] == sum(both.noise.values()) > 0


def test_noise_makes_neither_leaks_nor_copies(tmp_path: Path) -> None:
    train = [("Déjà là ?", "Already there?"), ("Zoé", "Zoe"), ("Né.", "Born.")]
    held_out = [("Deja la?", "Here we are again?")]
    report = run(tmp_path, {"lose_accents": 1.0}, train, held_out=held_out)
    assert read(tmp_path) == [("Déjà là?", "Already there?"), ("Zoé", "Zoe"), ("Ne.", "Born.")]
    assert (report.kept, report.augmented, report.noise["lose_accents"]) == (3, 1, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["é" * 200_000, "a" + "." * 200_000 + "b", "a " * 100_000 + "b"])
def test_time_grows_with_the_text_alone(kind: str, text: str) -> None:
    start = process_time()
    add_noise(kind, text, Random(0))
    assert process_time() - start < 2
