"""A comparison for people, and for programs."""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from tabulate import tabulate

from pipeline.experiments.comparison import Comparison, SentencePair
from pipeline.experiments.results import Results
from transformer.evaluation.scores import ScoreDifference

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
    verdicts = [part for told in _verdicts(comparison) for part in textwrap.wrap(told, width)]
    parts = [[names, *notes], [table], verdicts, _count(comparison)]
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
        "bleu_difference": list_difference(comparison.bleu),
        "sets": {
            name: {
                "a": dict(one.a.figures),
                "b": dict(one.b.figures),
                "bleu_difference": list_difference(one.bleu),
            }
            for name, one in comparison.sets.items()
        },
        "sets_left_out": dict(comparison.sets_left_out),
        "largest_gains": [*map(sentence, comparison.largest_gains(num_sentences))],
        "largest_losses": [*map(sentence, comparison.largest_losses(num_sentences))],
    }


def describe_difference(bleu: ScoreDifference) -> str:
    """The verdict and what it rests on, such as `B is significantly better: BLEU +1.20, ...`."""
    verdict = "no significant difference"
    if bleu.is_significant:
        verdict = f"B is significantly {'better' if bleu.value > 0 else 'worse'}"
    interval = f"95 % in [{bleu.low:+.2f}, {bleu.high:+.2f}]"
    return f"{verdict}: BLEU {bleu.value:+.2f}, {interval}, p = {bleu.p:.2g}"


def list_difference(bleu: ScoreDifference) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    return asdict(bleu) | {"significant": bleu.is_significant}


def capitalize(text: str) -> str:
    """With a capital at the beginning, whatever follows."""
    return text[:1].upper() + text[1:]


def describe_sets(sets: Mapping[str, ScoreDifference], left_out: Mapping[str, str]) -> list[str]:
    """A line for each further set: what is significant, or why it is not compared."""
    told = [f"{name}: {describe_difference(bleu)}." for name, bleu in sets.items()]
    return told + [f"{name}: not compared ({why})." for name, why in left_out.items()]


def _score_rows(comparison: Comparison) -> list[list[str]]:
    a, b = comparison.a.figures, comparison.b.figures
    rows = _intervals("", a, b)
    for key, (label, style) in _OTHERS.items():
        if key in a and key in b:
            rows.append([label, style.format(a[key]), style.format(b[key]), ""])
    for name, one in comparison.sets.items():
        rows += _intervals(f"{name}: ", one.a.figures, one.b.figures)
    return rows


def _intervals(head: str, a: Mapping[str, float], b: Mapping[str, float]) -> list[list[str]]:
    return [
        [head + label, _interval(a, key), _interval(b, key), f"{b[key] - a[key]:+.2f}"]
        for key, label in _LABELS.items()
    ]


def _interval(figures: Any, key: str) -> str:
    return f"{figures[key]:.2f} [{figures[f'{key}_low']:.2f}, {figures[f'{key}_high']:.2f}]"


def _verdicts(comparison: Comparison) -> list[str]:
    told = [f"{capitalize(describe_difference(comparison.bleu))}, paired bootstrap."]
    if comparison.decoding:
        settings = ", ".join(f"{d.name} {d.a} and {d.b}" for d in comparison.decoding)
        told.append(f"Different decoding settings ({settings}): the models alone are not compared.")
    return told + describe_sets(
        {name: one.bleu for name, one in comparison.sets.items()}, comparison.sets_left_out
    )


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
