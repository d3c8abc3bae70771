"""The sets that `evaluate.sets` names: on none of them may a new champion be worse."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from pipeline.params import load_sections
from pipeline.paths import RAW, SETS
from pipeline.tracking.model_package import NAME, translate_test
from pipeline.tracking.promotion import ChampionComparison, TestedVersion
from pipeline.tracking.versions import fetch_translator
from transformer.evaluation.config import EvaluateConfig
from transformer.evaluation.scores import ScoreDifference, compare_bleu
from transformer.evaluation.sets import read_sets
from transformer.serving.translator import Translator
from transformer.text.clean_config import CleanConfig
from transformer.text.heldout import Heldout


def compare_on_sets(
    comparison: ChampionComparison, num_bootstrap: int
) -> dict[str, ScoreDifference]:
    """Both translators' translations of each set in `params.yaml`, whole, by paired resamples.

    Returns:
        By the set's name the challenger's BLEU minus the champion's; none where there is no
        champion, or it is the challenger.

    Raises:
        ValueError: a set can't be had.
    """
    challenger, champion = comparison.challenger, comparison.champion
    if champion is None or champion.version == challenger.version:
        return {}
    evaluate, clean = load_sections(("evaluate", EvaluateConfig), ("clean", CleanConfig))
    whole = evaluate.model_copy(update={"num_sentences": None})
    sets = read_sets(whole, RAW, SETS, clean.source)
    if not sets:
        return {}
    ours, theirs = (_translate(side, sets) for side in (challenger, champion))
    return {
        name: compare_bleu(
            ours[name],
            theirs[name],
            texts.references,
            bleu_tokenizer=champion.bleu_tokenizer,
            num_bootstrap=num_bootstrap,
        )
        for name, texts in sets.items()
    }


def _translate(side: TestedVersion, sets: Mapping[str, Heldout]) -> dict[str, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        found = fetch_translator(NAME, side.version, Path(folder))
        translator = Translator(found, provider="cpu", precision=side.tags["precision"])
        return {name: translate_test(translator, one.raw_sources) for name, one in sets.items()}
