"""Estimates of quality from outside, such as COMET's: a command of the user's."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformer.evaluation.config import EvaluateConfig
from transformer.evaluation.scores import average
from transformer.evaluation.tables import DECIMALS
from transformer.evaluation.translated_test import TranslatedTest
from transformer.text.scoring import score_pairs


def estimate(
    config: EvaluateConfig, tests: Mapping[str, TranslatedTest]
) -> Mapping[str, Sequence[float]]:
    """An estimate for each translation of each test set; nothing where the params ask for none.

    The command runs once for all, since its start is what takes long. It reads sources as they
    came.

    Raises:
        ValueError: as `score_pairs` does; lines are those that the command read.
    """
    if config.quality is None:
        return {}
    rows = [
        row
        for test in tests.values()
        for row in zip(
            test.texts.raw_sources, test.translations, test.texts.references, strict=True
        )
    ]
    lines = range(1, len(rows) + 1)
    found = iter(score_pairs(config.quality.command, rows, lines, "evaluate.quality.command"))
    return {name: [next(found) for _ in test.translations] for name, test in tests.items()}


def average_quality(
    config: EvaluateConfig, estimates: Sequence[float] | None
) -> tuple[dict[str, Any], list[str]]:
    """Their mean with its interval, for reports and as lines for people; none of none."""
    if config.quality is None or estimates is None:
        return {}, []
    name, mean = config.quality.name, average(estimates, config.num_bootstrap)
    values = {"": mean.value, "_low": mean.low, "_high": mean.high}
    told = f"{name:<16} {mean.value:6.4f}  95 % in [{mean.low:.4f}, {mean.high:.4f}]"
    figures = {f"{name}{end}": round(value, DECIMALS) for end, value in values.items()}
    return {"quality": name} | figures, [told]


def name_quality(
    config: EvaluateConfig, estimates: Sequence[float] | None
) -> dict[str, Sequence[float]]:
    """Them by the name of their column."""
    if config.quality is None or estimates is None:
        return {}
    return {config.quality.name: estimates}
