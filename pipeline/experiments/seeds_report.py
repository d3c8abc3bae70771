"""A comparison of several seeds, for people and for programs."""

from dataclasses import asdict
from typing import Any

from tabulate import tabulate

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
    bleu = comparison.bleu
    verdict = "No significant difference"
    if comparison.is_significant:
        verdict = f"B is significantly {'better' if bleu.value > 0 else 'worse'}"
    told = [
        tabulate(rows, tablefmt="plain", disable_numparse=True),
        tabulate(changed, tablefmt="plain", disable_numparse=True),
        f"{verdict}: BLEU {bleu.value:+.2f}, 95 % in [{bleu.low:+.2f}, {bleu.high:+.2f}]; {TEST}.",
    ]
    for letter, (results, _) in zip("AB", sides, strict=True):
        if len(results) == 1:
            told[-1] += f"\nOf {letter} one seed alone: what another would give is not in this."
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
        "bleu_difference": asdict(comparison.bleu)
        | {"significant": comparison.is_significant, "test": TEST},
    }


def _range(bleu: Spread) -> str:
    return "-" if bleu.low == bleu.high else f"{bleu.low:.2f} to {bleu.high:.2f}"
