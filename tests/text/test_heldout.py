"""The test part as it is translated: whole or a sample, beside its references."""

from pathlib import Path

import pytest

from transformer.text.corpus import Pair, part_path, write_pairs
from transformer.text.heldout import describe_size, encode_sources, mark_sample, read_heldout
from transformer.text.vocab_config import WordSpec
from transformer.text.vocabulary import fit_tokenizer

RAW = [(f"Chat {number}.", f"Cat\u00a0{number}.") for number in range(9)]
CLEAN = [(f"chat {number}", f"cat {number}") for number in range(9)]


def write(folder: Path, clean: list[Pair]) -> tuple[Path, Path]:
    for name, pairs in (("raw", RAW), ("clean", clean)):
        write_pairs(part_path(folder / name, "test"), pairs)
    return folder / "raw", folder / "clean"


def test_sources_are_clean_and_references_raw(tmp_path: Path) -> None:
    found = read_heldout(*write(tmp_path, CLEAN))
    assert found.sources == [source for source, _ in CLEAN]
    assert found.references == [target for _, target in RAW]
    assert found.normalized_references == [target for _, target in CLEAN]
    assert found.sampled_from is None


def test_references_that_cleaning_shortens_are_kept_too(tmp_path: Path) -> None:
    clean = [(source, target.removesuffix(".")) for source, target in RAW]
    normalized = read_heldout(*write(tmp_path, clean)).normalized_references
    assert normalized == [target for _, target in clean]


def test_odd_spaces_make_no_second_score(tmp_path: Path) -> None:
    clean = [(source, target.replace("\u00a0", " ")) for source, target in RAW]
    assert read_heldout(*write(tmp_path, clean)).normalized_references is None


def test_a_sample_is_the_same_each_time_in_its_order(tmp_path: Path) -> None:
    folders = write(tmp_path, CLEAN)
    found = read_heldout(*folders, num_sentences=4)
    assert found == read_heldout(*folders, num_sentences=4)
    assert (found.sampled_from, len(found.sources)) == (9, 4)
    assert found.sources == sorted(found.sources)
    rows = [int(source.split()[1]) for source in found.sources]
    assert found.references == [RAW[row][1] for row in rows]
    assert read_heldout(*folders, num_sentences=9) == read_heldout(*folders)


def test_parts_that_do_not_match_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 8 pairs, but .* has 9; they must match row by row"):
        read_heldout(*write(tmp_path, CLEAN[1:]))


def test_figures_of_a_sample_have_names_of_their_own() -> None:
    assert mark_sample({"bleu": 1.0}, None) == {"bleu": 1.0}
    assert mark_sample({"bleu": 1.0}, 9) == {"quick_bleu": 1.0}
    assert (describe_size(4, None), describe_size(4, 9)) == ("4 sentences", "4 of 9 sentences")


def test_a_source_that_is_too_long_loses_its_end_and_is_counted() -> None:
    spec = WordSpec(kind="word", boundary="space", size=10, min_frequency=1)
    tokenizer = fit_tokenizer(spec, ["a b c d"])
    a, b, c, _ = tokenizer.encode("a b c d")
    end = tokenizer.eos_id
    ids, num_cut = encode_sources(tokenizer, ["a b c d", "a b c", "a b", ""], max_tokens=4)
    assert ids == [[a, b, c, end], [a, b, c, end], [a, b, end], []]
    assert num_cut == 1
