"""Splitting: no sentence in two parts, exact sizes, one outcome per seed."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text import splitting
from transformer.text.corpus import Pair
from transformer.text.splitting import (
    LEFT_OUT,
    TooManyPairsError,
    assign_by_origin,
    assign_parts,
    draw_parts,
    group_pairs,
)

NAMES = ("valid", "test")
SENTENCE = st.integers(0, 12).map(lambda number: f"Sentence {number}.")


def components(pairs: Sequence[Pair]) -> list[set[int]]:
    """Groups by brute force: merge whatever touches until nothing does."""
    groups = [{index} for index in range(len(pairs))]
    merged = True
    while merged:
        merged = False
        for a in groups:
            for b in groups:
                touch = any(
                    pairs[i][0] == pairs[j][0] or pairs[i][1] == pairs[j][1] for i in a for j in b
                )
                if a is not b and touch:
                    a |= b
                    groups.remove(b)
                    merged = True
                    break
            if merged:
                break
    return groups


def unrelated(count: int) -> list[Pair]:
    return [(f"quelle {number}", f"target {number}") for number in range(count)]


@given(st.lists(st.tuples(SENTENCE, SENTENCE), max_size=25))
def test_groups_are_the_connected_components(pairs: list[Pair]) -> None:
    labels = group_pairs(pairs)
    found = [set(np.flatnonzero(labels == label)) for label in range(len(set(labels.tolist())))]
    assert sorted(map(sorted, found)) == sorted(map(sorted, components(pairs)))


def test_a_long_chain_is_one_group() -> None:
    links = [(f"s{n // 2}", f"t{(n + 1) // 2}") for n in range(2001)]
    order = np.random.default_rng(0).permutation(len(links))
    assert set(group_pairs([links[n] for n in order]).tolist()) == {0}


def test_case_punctuation_and_odd_spaces_do_not_tell_sentences_apart() -> None:
    pairs = [("Va\u202f!", "Go."), ("va !", "Leave."), ("VA", "Move."), ("Va-t'en", "Go away")]
    assert group_pairs(pairs).tolist() == [0, 0, 0, 1]


def test_bare_punctuation_is_not_all_the_same() -> None:
    assert group_pairs([("?", "What?"), ("!", "Hey!")]).tolist() == [0, 1]


def test_a_sentence_on_the_other_side_does_not_join() -> None:
    assert group_pairs([("Tom", "Tim"), ("Tim", "Jim")]).tolist() == [0, 1]


@given(st.integers(0, 2**32), st.lists(st.tuples(SENTENCE, SENTENCE), max_size=25))
def test_no_sentence_stands_in_two_parts(seed: int, related: list[Pair]) -> None:
    pairs = related + unrelated(20)
    parts = assign_parts(pairs, (4, 6), seed, NAMES)
    assert np.bincount(parts, minlength=3)[1:].tolist() == [4, 6]
    for side in (0, 1):
        where: dict[str, set[int]] = {}
        for pair, part in zip(pairs, parts.tolist(), strict=True):
            where.setdefault(pair[side], set()).add(part)
        assert all(len(found) == 1 for found in where.values())


def test_a_giant_group_goes_to_training() -> None:
    giant = [("Merci", f"Thanks {number}") for number in range(50)]
    parts = assign_parts(giant + unrelated(20), (5, 5), 0, NAMES)
    assert set(parts[:50].tolist()) == {0}


def test_the_seed_decides() -> None:
    pairs = unrelated(100)
    first, again, other = (assign_parts(pairs, (10, 10), seed, NAMES) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_corpus_that_is_too_small_is_told() -> None:
    with pytest.raises(ValueError, match=r"10 pairs can't give valid 5 \+ test 5 and leave some"):
        assign_parts(unrelated(10), (5, 5), 0, NAMES)


def test_a_corpus_that_hangs_together_is_told() -> None:
    pairs = [("Merci", f"Thanks {number}") for number in range(50)] + unrelated(3)
    with pytest.raises(
        ValueError, match=r"valid 3 of 5, test 0 of 5 pairs.*53 pairs form 4 groups.*holds 50"
    ):
        assign_parts(pairs, (5, 5), 0, NAMES)


@given(st.integers(0, 2**32), st.lists(st.tuples(SENTENCE, SENTENCE), max_size=25))
def test_what_shares_a_sentence_with_a_drawn_pair_is_left_out(
    seed: int, related: list[Pair]
) -> None:
    pairs = related + unrelated(20)
    parts = list(draw_parts(lambda: pairs, (4, 6), seed, NAMES))
    assert [parts.count(part) for part in (1, 2)] == [4, 6]
    for side in (0, 1):
        held_out = [pair[side] for pair, part in zip(pairs, parts, strict=True) if part in (1, 2)]
        assert len(set(held_out)) == 10
        train = {pair[side] for pair, part in zip(pairs, parts, strict=True) if part == 0}
        assert train.isdisjoint(held_out)
    drawn = [pair for pair, part in zip(pairs, parts, strict=True) if part in (1, 2)]
    for pair, part in zip(pairs, parts, strict=True):
        shares = any(pair[0] == one[0] or pair[1] == one[1] for one in drawn)
        assert (part == 0) == (not shares)
        assert part != LEFT_OUT or shares


def test_a_draw_does_not_depend_on_the_order_or_on_how_often_a_sentence_stands() -> None:
    pairs = unrelated(200)
    some = draw_parts(lambda: pairs, (5, 5), 3, NAMES)
    more = [*reversed(pairs), *pairs[:100]]
    others = draw_parts(lambda: more, (5, 5), 3, NAMES)
    first, again = (
        {pair[0]: part for pair, part in zip(texts, parts, strict=True) if part in (1, 2)}
        for texts, parts in ((pairs, some), (more, others))
    )
    assert first == again


def test_a_draw_that_the_corpus_cannot_give_is_told() -> None:
    pairs = [(f"s{n}", "Merci") for n in range(50)]
    with pytest.raises(ValueError, match=r"can't give valid 3 \+ test 5: 1 pairs were found"):
        list(draw_parts(lambda: pairs, (3, 5), 0, NAMES))


def test_more_pairs_than_can_be_grouped_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "MAX_GROUPED_PAIRS", 9)
    assert len(group_pairs(unrelated(9))) == 9
    with pytest.raises(TooManyPairsError):
        group_pairs(unrelated(10))


FAMILIES = st.lists(st.tuples(SENTENCE, SENTENCE, st.integers(0, 5)), min_size=1, max_size=40)


@given(FAMILIES, st.integers(1, 6), st.integers(1, 6), st.integers(0, 3))
def test_no_family_and_no_sentence_is_in_two_parts(
    rows: list[tuple[str, str, int]], num_valid: int, num_test: int, seed: int
) -> None:
    pairs = [row[:2] for row in rows]
    families = np.array([row[2] for row in rows])
    try:
        parts = assign_by_origin(pairs, families, (num_valid, num_test), seed, NAMES)
    except ValueError:
        return
    assert np.bincount(parts, minlength=3)[:3].tolist()[1:] == [num_valid, num_test]
    assert (parts == 0).any()
    for part in range(3):
        inside = np.flatnonzero(parts == part)
        outside = [n for n in range(len(pairs)) if parts[n] not in (part, LEFT_OUT)]
        assert {families[n] for n in inside}.isdisjoint(families[n] for n in outside)
        for side in (0, 1):
            assert {pairs[n][side] for n in inside}.isdisjoint(pairs[n][side] for n in outside)
    # What is left out is of a held-out family, and each held-out sentence comes once.
    held_out = {families[n] for n in np.flatnonzero((parts == 1) | (parts == 2))}
    assert {families[n] for n in np.flatnonzero(parts == LEFT_OUT)} <= held_out
    assert all(families[n] not in held_out for n in np.flatnonzero(parts == 0))


def test_families_are_held_out_by_the_seed_and_large_ones_never() -> None:
    families = np.repeat(np.arange(40), [300, *[10] * 39])
    pairs = unrelated(len(families))
    splits = [assign_by_origin(pairs, families, (25, 40), seed, NAMES) for seed in (1, 1, 2)]
    assert np.array_equal(splits[0], splits[1])
    assert not np.array_equal(splits[0], splits[2])
    for parts in splits:
        assert (parts[:300] == 0).all()
        assert np.bincount(parts)[1:3].tolist() == [25, 40]
        assert (parts == LEFT_OUT).sum() == 5  # of the third family of valid


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_families_are_told(count: int) -> None:
    pairs = unrelated(20)
    with pytest.raises(ValueError, match=rf"{count} families of at most {20 // count} pairs"):
        assign_by_origin(pairs, np.arange(20) % count, (5, 5), 1, NAMES)
