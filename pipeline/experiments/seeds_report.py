"""A comparison of several seeds, for people and for programs."""

from dataclasses import asdict
from typing import Any

from tabulate import tabulate

from pipeline.experiments.comparison_report import (
    capitalize,
    describe_difference,
    describe_sets,
    list_difference,
)
from pipeline.experiments.repeats import Spread
from pipeline.experiments.seeds_comparison import TEST, SeedsComparison


def describe_seeds(comparison: SeedsComparison, names: tuple[str, str]) -> str:
    """The comparison as text; `names` are what the user called A and B."""
    sides = (comparison.a, comparison.bleu_a), (comparison.b, comparison.bleu_b)
    rows = [["", "", "seeds", "BLEU (PyTorch)", "range"]]
    rows += [
        [letter, name, str(len(results)), f"{bleu.mean:.2f}", _range(bleu)]
        for letter, name, (results, bleu) in zip("AB", names, sides, strict=True)
    ]
    params = [[one.name, one.a or "-", one.b or "-"] for one in comparison.params]
    changed = [["params", "A", "B"], *params] if params else [["params", "no difference", ""]]
    further = [["sets", "A", "B"]]
    further += [
        [name, *(f"{bleu.mean:.2f} ({_range(bleu)})" for bleu in (one.bleu_a, one.bleu_b))]
        for name, one in comparison.sets.items()
    ]
    tables = [rows, changed, *([further] if comparison.sets else [])]
    told = [tabulate(table, tablefmt="plain", disable_numparse=True) for table in tables]
    told.append(f"{capitalize(describe_difference(comparison.bleu))}; {TEST}.")
    for letter, (results, _) in zip("AB", sides, strict=True):
        if len(results) == 1:
            told[-1] += f"\nOf {letter} one seed alone: what another would give is not in this."
    sets = {name: one.bleu for name, one in comparison.sets.items()}
    told[-1] = "\n".join([told[-1], *describe_sets(sets, comparison.sets_left_out)])
    return "\n\n".join(told)


def list_seeds(comparison: SeedsComparison, names: tuple[str, str]) -> dict[str, Any]:
    """The comparison as plain values, for JSON."""

    def side(name: str, results: Any, bleu: Spread) -> dict[str, Any]:
        seeds = [{"name": one.name, "bleu": one.figures["bleu"]} for one in results]
        return {"name": name, "bleu": asdict(bleu), "seeds": seeds}

    return {
        "a": side(names[0], comparison.a, comparison.bleu_a),
        "b": side(names[1], comparison.b, comparison.bleu_b),
        "params": {one.name: {"a": one.a, "b": one.b} for one in comparison.params},
        "bleu_difference": list_difference(comparison.bleu) | {"test": TEST},
        "sets": {
            name: {
                "a": asdict(one.bleu_a),
                "b": asdict(one.bleu_b),
                "bleu_difference": list_difference(one.bleu) | {"test": TEST},
            }
            for name, one in comparison.sets.items()
        },
        "sets_left_out": dict(comparison.sets_left_out),
    }


def _range(bleu: Spread) -> str:
    return "-" if bleu.low == bleu.high else f"{bleu.low:.2f} to {bleu.high:.2f}"
