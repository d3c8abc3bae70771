"""The whole report on a translated test set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.evaluation.config import EvaluateConfig
from transformer.evaluation.placeholders import count_kept
from transformer.evaluation.plots import plot_attention, plot_bleu_by_length
from transformer.evaluation.quality import average_quality, name_quality
from transformer.evaluation.scores import (
    has_four_words,
    score_bleu,
    score_by_length,
    score_corpus,
    score_sentences,
)
from transformer.evaluation.sets_report import list_set_figures
from transformer.evaluation.tables import (
    DECIMALS,
    describe_scores,
    flatten_scores,
    write_attention,
    write_length_groups,
    write_translations,
)
from transformer.evaluation.translated_test import AttentionMap, TranslatedTest
from transformer.files import atomic_folder
from transformer.text.heldout import describe_size, mark_sample


def write_evaluation(
    folder: Path,
    test: TranslatedTest,
    greedy_translations: Sequence[str],
    config: EvaluateConfig,
    estimates: Sequence[float] | None = None,
) -> tuple[dict[str, Any], str]:
    """Scores a translated test set; writes the tables and the plot.

    Args:
        folder: of the reports.
        test: translated by the search that the params ask for.
        greedy_translations: of the same sentences.
        config: how it is scored.
        estimates: of each translation's quality, where `config.quality` asks for them.

    Returns:
        What evaluate.json is to hold, and a summary for people.

    Raises:
        ValueError: the test set is empty.
    """
    translations, references = test.translations, test.texts.references
    tokenizer = config.bleu_tokenizer
    scores = score_corpus(
        translations, references, bleu_tokenizer=tokenizer, num_bootstrap=config.num_bootstrap
    )
    greedy = score_bleu(greedy_translations, references, bleu_tokenizer=tokenizer)
    num_exact = sum(map(str.__eq__, translations, references))
    values = flatten_scores(scores) | {
        "bleu_greedy": round(greedy, DECIMALS),
        "exact_match_share": round(num_exact / len(references), DECIMALS),
        "num_sentences": len(references),
        "sampled_from": test.texts.sampled_from,
        "num_truncated_sources": test.num_truncated_sources,
        "num_cut_translations": test.num_cut_translations,
        "num_empty_translations": sum(not text for text in translations),
    }
    num_placeholders, num_kept = count_kept(test.texts.sources, references, translations)
    summary = [
        f"{describe_size(len(references), test.texts.sampled_from)} against raw references "
        f"({num_exact} exact, {test.num_truncated_sources} sources truncated)",
        describe_scores(scores),
        f"greedy search: BLEU {greedy:.2f}",
    ]
    if num_placeholders:
        values |= {"num_placeholders": num_placeholders, "num_placeholders_kept": num_kept}
        summary.append(f"placeholders and tags: {num_kept} of {num_placeholders} kept")
    if not has_four_words(translations, references, bleu_tokenizer=tokenizer):
        summary.append(
            "BLEU says nothing here: no translation has four words in a row that its reference "
            "has. Look at chrF++, which counts letters and words"
        )
    if test.texts.normalized_references is not None:
        normalized = score_corpus(
            translations,
            test.texts.normalized_references,
            bleu_tokenizer=tokenizer,
            num_bootstrap=config.num_bootstrap,
        )
        values["normalized_references"] = flatten_scores(normalized)
        summary += ["against normalised references", describe_scores(normalized)]
    quality, told = average_quality(config, estimates)
    values |= quality
    summary += told
    groups = score_by_length(
        translations,
        references,
        test.source_lengths,
        length_bins=config.length_bins,
        bleu_tokenizer=tokenizer,
    )
    write_translations(
        folder / "translations.csv",
        sources=test.texts.sources,
        references=references,
        translations=translations,
        scores=test.scores,
        sentence_chrf=score_sentences(translations, references),
        quality=name_quality(config, estimates),
    )
    write_length_groups(folder / "bleu_by_length.csv", groups)
    plot_bleu_by_length(groups, folder / "bleu_by_length.png")
    return values, "\n".join(summary)


def headline_metrics(values: Mapping[str, Any]) -> dict[str, float]:
    """The few figures that tell experiments apart, out of evaluate.json."""
    margin = (values["bleu_high"] - values["bleu_low"]) / 2
    metrics = {name: values[name] for name in ("bleu", "chrf", "ter")} | {"bleu_margin": margin}
    rounded = {name: round(value, 2) for name, value in metrics.items()}
    if (quality := values.get("quality")) is not None:
        rounded[quality] = values[quality]
    return mark_sample(rounded | list_set_figures(values), values["sampled_from"])


def write_attention_maps(folder: Path, maps: Sequence[AttentionMap]) -> None:
    """Writes weights.csv and a PNG per map, named by its row; what was in `folder` goes."""
    with atomic_folder(folder) as temporary:
        for one in maps:
            path = temporary / f"{one.row:05}.png"
            plot_attention(one.weights, one.source_tokens, one.target_tokens, path)
        write_attention(
            temporary / "weights.csv",
            ((one.row, one.source_tokens, one.target_tokens, one.weights) for one in maps),
        )
