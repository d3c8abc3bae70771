"""Filters keep a pair, or drop it with a reason."""

from typing import Any

import pytest

from tests.text.plain import FOR_NOISE
from transformer.text.clean_config import CleanConfig, NormalizationConfig
from transformer.text.filters import count_words, judge, make_filters

AS_IS = NormalizationConfig(lowercase=False, strip_punctuation=False, fold_typography=False)


def config(**changes: Any) -> CleanConfig:
    values: dict[str, Any] = {
        "source": AS_IS,
        "target": AS_IS,
        "single_sentence": False,
        "length_unit": "word",
        "max_length": 5,
        "max_length_ratio": 2.0,
        "drop_copies": True,
        "drop_leaks": True,
        **FOR_NOISE,
        "drop_duplicates": True,
        "augment": None,
        "num_reject_samples": 0,
        "seed": 0,
    }
    return CleanConfig(**values | changes)


def test_limits_that_no_pair_could_meet_are_refused() -> None:
    assert config(max_length=1, max_length_ratio=1.0).max_length_ratio == 1.0
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        config(max_length=0)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        config(max_length_ratio=0.9)


HELD_OUT = [("un chien", "a dog"), ("", "")]


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("une vache", "a cow"), None),
        (("", "a cow"), "empty"),
        (("une vache", ""), "empty"),
        (("a b c d e", "a b c d f"), None),
        (("a b c d e f", "a b c"), "too_long"),
        (("a b c", "a b c d e f"), "too_long"),
        (("a b", "a b c d"), None),
        (("a b", "a b c d e"), "length_ratio"),
        (("a b c", "a"), "length_ratio"),
        (("Paris", "Paris"), "copy"),
        (("un chien", "one dog"), "leak"),
        (("le chien", "a dog"), "leak"),
        (("a dog", "un chien"), None),
    ],
)
def test_each_reason(pair: tuple[str, str], reason: str | None) -> None:
    assert judge(pair, make_filters(config(), HELD_OUT)) == reason


def test_the_first_reason_in_order_is_told() -> None:
    filters = make_filters(config(max_length=1), [("a b c", "x")])
    assert judge(("a b c", "a b c"), filters) == "too_long"


@pytest.mark.parametrize(
    ("change", "pair"),
    [
        ({"max_length": None}, ("a b c d e f", "a b c d e g")),
        ({"max_length_ratio": None}, ("a", "a b c d")),
        ({"drop_copies": False}, ("Paris", "Paris")),
        ({"drop_leaks": False}, ("un chien", "a dog")),
    ],
)
def test_a_filter_that_is_off_keeps(change: dict[str, Any], pair: tuple[str, str]) -> None:
    assert judge(pair, make_filters(config(**change), HELD_OUT)) is None


def test_characters_measure_text_without_spaces() -> None:
    filters = make_filters(config(length_unit="character", max_length=6, max_length_ratio=3), [])
    assert judge(("你好", "Hello!"), filters) is None
    assert judge(("你", "Hello!"), filters) == "length_ratio"
    assert judge(("你好你好", "Hello!!"), filters) == "too_long"
    assert count_words("你好 吗") == 2
