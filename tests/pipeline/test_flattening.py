"""Params as they are shown and tracked."""

from pipeline.flattening import flatten, list_changes


def test_a_secret_in_a_url_is_neither_shown_nor_a_difference():
    values = [{"corpus": {"url": f"https://h/f?token={word}", "seed": 1}} for word in ("a", "b")]
    assert flatten(values[0]) == {"corpus.url": "https://h/f?token=***", "corpus.seed": 1}
    assert list_changes(*values) == {}
