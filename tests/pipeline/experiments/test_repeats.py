"""Experiments with several seeds: what they are called, and whether their means differ."""

import random
from dataclasses import replace

import pytest

from pipeline.experiments.comparison import compare
from pipeline.experiments.overview import Experiment
from pipeline.experiments.repeats import describe_repeats, plan_repeats, spread_figures
from pipeline.experiments.results import ResultsError
from pipeline.experiments.seeds_comparison import compare_seeds
from pipeline.experiments.seeds_report import describe_seeds, list_seeds
from tests.pipeline.experiments.test_comparison import REFERENCES, make, with_sets


def test_each_seed_is_an_experiment_of_the_name():
    points = plan_repeats("wide", ["model.d_model=256"], 2)
    assert [point.name for point in points] == ["wide-seed=1", "wide-seed=2"]
    assert points[1].changes == ("model.d_model=256", "train.seed=2")


def test_what_can_not_be_a_repeat_is_told():
    with pytest.raises(ValueError, match=r"-S train\.seed: `repeat` sets it to 1, 2, \.\.\."):
        plan_repeats("wide", ["train.seed=7"], 2)
    with pytest.raises(ValueError, match="'so wide': a name is made of letters"):
        plan_repeats("so wide", [], 2)


def test_means_and_ranges_are_told_of_what_all_seeds_have():
    figures = [{"bleu": 30.0, "ter": 50.0}, {"bleu": 33.0, "ter": 47.0, "int8_bleu": 32.0}]
    found = [
        Experiment(f"wide-seed={n}", "c", f, None, {}, "", None) for n, f in enumerate(figures)
    ]
    spreads = spread_figures(found)
    assert list(spreads) == ["bleu", "ter"]
    lines = [line.split() for line in describe_repeats(found, spreads).splitlines()]
    assert lines[-2] == ["mean", "31.50", "48.50"]
    assert lines[-1] == ["range", "30.00", "to", "33.00", "47.00", "to", "50.00"]


def spoil(seed, number):
    """The references, `number` of them with other words."""
    chosen = set(random.Random(seed).sample(range(len(REFERENCES)), number))
    return [text.replace("sleeps", "eats") if n in chosen else text
            for n, text in enumerate(REFERENCES)]  # fmt: skip


def several(name, *numbers):
    return [make(f"{name}-seed={n}", spoil(n, number)) for n, number in enumerate(numbers)]


def test_seeds_that_agree_show_a_difference_that_scattered_ones_do_not():
    steady = compare_seeds(several("a", 9, 9, 9), several("b", 1, 1, 1))
    assert steady.bleu.is_significant
    assert steady.bleu.p < 0.05
    assert steady.bleu.value == pytest.approx(steady.bleu_b.mean - steady.bleu_a.mean)
    scattered = compare_seeds(several("a", 12, 9, 1), several("b", 0, 8, 1))
    assert scattered.bleu.value > 0
    assert not scattered.bleu.is_significant
    # A pair of their seeds alone looks sure.
    assert compare(*several("a", 12), *several("b", 0)).bleu.is_significant
    told = describe_seeds(steady, ("a", "b"))
    assert "B is significantly better: BLEU +" in told
    assert "Welch" in told


def test_of_one_seed_each_the_interval_is_nearly_that_of_the_paired_bootstrap():
    a, b = several("a", 9), several("b", 1)
    mine, usual = compare_seeds(a, b).bleu, compare(*a, *b).bleu
    assert mine.value == pytest.approx(usual.value)
    assert mine.high - mine.low == pytest.approx(usual.high - usual.low, rel=0.2)
    assert "Of A one seed alone" in describe_seeds(compare_seeds(a, b), ("a", "b"))


def test_further_sets_are_compared_over_seeds_as_the_test_set_is():
    a, b = several("a", 9, 8), several("b", 1, 2)
    sets = compare_seeds(
        [with_sets(one, typos=one, mine=one) for one in b],
        [with_sets(b[0], typos=a[0]), with_sets(b[1], typos=a[1], mine=a[1])],
    )
    expected = compare_seeds(b, a)
    assert vars(sets.sets["typos"]).items() <= vars(expected).items()
    told = describe_seeds(sets, ("b", "a"))
    assert "typos: B is significantly worse: BLEU -" in told
    assert "mine: not compared (not scored by b-seed=0)." in told
    assert f"typos  {expected.bleu_a.mean:.2f} (" in told
    values = list_seeds(sets, ("b", "a"))["sets"]["typos"]
    assert values["bleu_difference"] == list_seeds(expected, ("b", "a"))["bleu_difference"]


def test_equal_seeds_differ_by_nothing():
    same = compare_seeds(several("a", 5, 7), several("a", 5, 7))
    assert same.bleu.value == 0
    assert not same.bleu.is_significant
    values = list_seeds(same, ("a", "b"))["bleu_difference"]
    assert values["low"] < 0 < values["high"]
    assert values["p"] == 1


def test_other_test_sets_are_refused():
    other = make("b", REFERENCES)
    translations = [*other.translations[1:], other.translations[0]]
    with pytest.raises(ResultsError, match="scored on other test sets: sentence 1"):
        compare_seeds(several("a", 5, 5), [replace(other, translations=translations)])
