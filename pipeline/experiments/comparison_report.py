"""A comparison for people, and for programs."""

import textwrap
from dataclasses import asdict
from functools import partial
from typing import Any

from tabulate import tabulate

from pipeline.experiments.comparison import Comparison, SentencePair
from pipeline.experiments.results import Results

_table = partial(tabulate, tablefmt="plain", disable_numparse=True)
_LABELS = {"bleu": "BLEU (PyTorch)", "chrf": "chrF++", "ter": "TER (less is better)"}
_OTHERS = {
    "exact_match_share": ("exact translations", "{:.1%}"),
    "perplexity": ("validation perplexity", "{:.3f}"),
    "int8_bleu": ("BLEU of the int8 graph", "{:.2f}"),
    "float16_bleu": ("BLEU of the float16 graph", "{:.2f}"),
    "parameters": ("parameters", "{:,.0f}"),
}


def describe_comparison(comparison: Comparison, num_sentences: int, width: int) -> str:
    """The comparison as text.

    Args:
        comparison: of A and B.
        num_sentences: how many of the largest gains are shown, and of the largest losses.
        width: of a line, in characters; sentences are wrapped to it.
    """
    a, b = comparison.a, comparison.b
    names = _table([["A", a.name, a.origin], ["B", b.name, b.origin]])
    notes = [f"note: {one.name}: {note}" for one in (a, b) for note in one.notes]
    params = [[one.name, one.a or "-", one.b or "-"] for one in comparison.params]
    rows = [["params", "A", "B"], *params] if params else [["params", "no difference", ""]]
    # One table, so that the columns of params and scores stand below each other.
    table = _table(
        [*rows, ["", "", "", ""], ["scores", "A", "B", "B - A"], *_score_rows(comparison)]
    )
    parts = [[names, *notes], [table], [_verdict(comparison)], _count(comparison)]
    gains = comparison.largest_gains(num_sentences)
    losses = comparison.largest_losses(num_sentences)
    for title, pairs in (("B gains most", gains), ("B loses most", losses)):
        parts += [[f"{title}: sentence {p.row + 1}", *_sentence(p, width)] for p in pairs]
    return "\n\n".join("\n".join(part) for part in parts)


def list_comparison(comparison: Comparison, num_sentences: int) -> dict[str, Any]:
    """The comparison as plain values, for JSON."""

    def side(one: Results) -> dict[str, Any]:
        return {
            "name": one.name,
            "origin": one.origin,
            "figures": dict(one.figures),
            "signature": one.bleu_signature,
            "notes": list(one.notes),
        }

    def sentence(pair: SentencePair) -> dict[str, Any]:
        return {
            "row": pair.row,
            "source": pair.a.source,
            "reference": pair.a.reference,
            "a": {"text": pair.a.text, "chrf": pair.a.chrf},
            "b": {"text": pair.b.text, "chrf": pair.b.chrf},
        }

    return {
        "a": side(comparison.a),
        "b": side(comparison.b),
        "params": {one.name: {"a": one.a, "b": one.b} for one in comparison.params},
        "different_decoding_settings": [one.name for one in comparison.decoding],
        "bleu_difference": asdict(comparison.bleu) | {"significant": comparison.is_significant},
        "largest_gains": [*map(sentence, comparison.largest_gains(num_sentences))],
        "largest_losses": [*map(sentence, comparison.largest_losses(num_sentences))],
    }


def _score_rows(comparison: Comparison) -> list[list[str]]:
    a, b = comparison.a.figures, comparison.b.figures
    rows = []
    for key, label in _LABELS.items():
        rows.append([label, _interval(a, key), _interval(b, key), f"{b[key] - a[key]:+.2f}"])
    for key, (label, style) in _OTHERS.items():
        if key in a and key in b:
            rows.append([label, style.format(a[key]), style.format(b[key]), ""])
    return rows


def _interval(figures: Any, key: str) -> str:
    return f"{figures[key]:.2f} [{figures[f'{key}_low']:.2f}, {figures[f'{key}_high']:.2f}]"


def _verdict(comparison: Comparison) -> str:
    bleu = comparison.bleu
    verdict = "No significant difference"
    if comparison.is_significant:
        verdict = f"B is significantly {'better' if bleu.value > 0 else 'worse'}"
    interval = f"95 % in [{bleu.low:+.2f}, {bleu.high:+.2f}]"
    told = f"{verdict}: BLEU {bleu.value:+.2f}, {interval}, paired bootstrap."
    if comparison.decoding:
        settings = ", ".join(f"{d.name} {d.a} and {d.b}" for d in comparison.decoding)
        told += f"\nDifferent decoding settings ({settings}): the models alone are not compared."
    return told


def _count(comparison: Comparison) -> list[str]:
    pairs = comparison.sentences
    better = sum(pair.gain > 0 for pair in pairs)
    worse = sum(pair.gain < 0 for pair in pairs)
    equal = sum(pair.a.text == pair.b.text for pair in pairs)
    return [
        f"{len(pairs)} sentences by chrF++: B is better in {better}, worse in {worse}; "
        f"{equal} translations are equal."
    ]


def _sentence(pair: SentencePair, width: int) -> list[str]:
    lines = [
        ("source", pair.a.source),
        ("reference", pair.a.reference),
        (f"A {pair.a.chrf:9.1f}", pair.a.text or "(empty)"),
        (f"B {pair.b.chrf:9.1f}", pair.b.text or "(empty)"),
    ]
    return [
        line
        for label, text in lines
        for line in textwrap.wrap(
            text, max(width, 40), initial_indent=f"  {label:<11}  ", subsequent_indent=" " * 15
        )
    ]
