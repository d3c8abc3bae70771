"""Chance in back-translation: one of several translations, and noise on its words."""

import math
from collections.abc import Sequence
from random import Random

from transformer.serving.translator import Translation
from transformer.synthesis.config import TranslationNoise

BLANK = "<blank>"


def draw_one(translations: Sequence[Translation], random: Random) -> Translation:
    """One of the n best: each by the exponential of its score, as a share of them all."""
    if len(translations) == 1:
        return translations[0]
    best = max(one.score for one in translations)
    return random.choices(translations, [math.exp(one.score - best) for one in translations])[0]


def add_noise(text: str, config: TranslationNoise, random: Random) -> str:
    """Leaves out words, blanks them, moves them; a text of words keeps one at least.

    Args:
        text: words between spaces; without spaces, as in Chinese, it is one word.
        config: how much of each.
        random: what decides.
    """
    words = text.split(" ")
    kept = [word for word in words if random.random() >= config.drop] or words[:1]
    marked = [BLANK if random.random() < config.blank else word for word in kept]
    if config.max_shift:  # each draws a place that is at most so far behind its own
        places = [place + random.uniform(0, config.max_shift + 1) for place in range(len(marked))]
        marked = [marked[place] for place in sorted(range(len(marked)), key=places.__getitem__)]
    return " ".join(marked)
