"""Placeholders and tags that come through a translation."""

from collections import Counter
from collections.abc import Sequence

from transformer.text.markup.placeholders import find_placeholders


def count_kept(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> tuple[int, int]:
    """Counts the placeholders that a translation should have, and those that it has.

    Should have are those that source and reference share, each as often as both have it. All
    three are aligned.

    Returns:
        How many there are, and how many of them stand in the translations.
    """
    num_wanted = num_kept = 0
    for texts in zip(sources, references, translations, strict=True):
        source, reference, translation = map(_placeholders, texts)
        wanted = source & reference
        num_wanted += wanted.total()
        num_kept += (wanted & translation).total()
    return num_wanted, num_kept


def _placeholders(text: str) -> Counter[str]:
    return Counter(text[found.begin : found.end] for found in find_placeholders(text))
