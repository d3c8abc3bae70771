"""Tables and verdicts."""

from benchmarks.harness.report import judge, markdown_table, write_page
from benchmarks.harness.rounds import Ratio


def test_markdown_aligns_numbers_to_the_right():
    table = markdown_table(["a", "b"], [["x", "1"]], num_text_columns=1)
    assert table == "| a | b |\n| --- | --: |\n| x | 1 |"


def test_a_figure_at_its_bound_meets_the_target():
    at_least = judge("speed", 1.5, 1.5)
    assert (at_least.found, at_least.target, at_least.word) == ("1.50", "at least 1.50", "met")
    assert judge("speed", 1.49, 1.5).word == "missed"
    at_most = judge("wait", 2.0, 2.0, "{:.1f} s", is_most=True)
    assert (at_most.found, at_most.target, at_most.word) == ("2.0 s", "at most 2.0 s", "met")
    assert judge("wait", 2.1, 2.0, is_most=True).word == "missed"


def test_what_was_not_measured_is_not_judged():
    assert (judge("x", None, 1.0).found, judge("x", None, 1.0).word) == ("–", "not measured")


def test_a_ratio_tells_its_range_over_the_rounds():
    assert judge("x", Ratio(2.0, 1.0, 3.0), 1.5).found == "2.00 (rounds 1.00 to 3.00)"


def test_a_page_without_targets_has_no_heading_for_them():
    assert "Targets" not in write_page("T", "tracking", ["a part"])
    assert "## Targets" in write_page("T", "tracking", ["a part"], [judge("x", 1, 1)])
