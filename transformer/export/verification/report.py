"""What the stage tells of its graphs, in figures, words and a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from transformer.evaluation.tables import DECIMALS
from transformer.export.config import ExportConfig
from transformer.export.verification.gate import Verdict
from transformer.export.verification.histogram import write_histogram
from transformer.export.verification.parity import Difference, Parity, Reference
from transformer.export.verification.plots import plot_parity
from transformer.files import write_json
from transformer.text.heldout import mark_sample


def write_reports(
    folder: Path, reference: Reference, verdicts: Sequence[Verdict], config: ExportConfig
) -> None:
    """Writes export.json, differences.json, parity.csv and parity.png.

    Args:
        folder: of the reports.
        reference: PyTorch's side.
        verdicts: float32's first.
        config: with the tolerances that the picture shows.
    """
    write_json(folder / "export.json", list_metrics(reference, verdicts))
    differences = {v.parity.precision: [*map(_describe, v.parity.differences)] for v in verdicts}
    write_json(folder / "differences.json", differences)
    write_histogram(folder / "parity.csv", verdicts)
    plot_parity(verdicts, reference.bleu, config.max_bleu_loss, folder / "parity.png")


def list_metrics(reference: Reference, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """For export.json: float32's figures under plain names, those of others with a prefix.

    Those of further sets, where there are any, likewise under `sets`, by name.
    """
    plain = verdicts[0].parity
    measured = measure(plain)
    metrics: dict[str, Any] = {
        "num_sentences": plain.num_sentences,
        "sampled_from": reference.sampled_from,
        "bleu_signature": reference.bleu_signature,
        "pytorch_bleu": round(reference.bleu, DECIMALS),
        "onnx_bleu": measured["bleu"],
        "num_near_ties": plain.num_near_ties,
        "num_unexplained": len(plain.differences) - plain.num_near_ties,
        "near_tie_margin": two_digits(plain.near_tie_margin),
    }
    for name in ("identical_share", "max_score_difference", "max_logit_difference"):
        metrics[name] = measured[name]
    for verdict in verdicts[1:]:
        told = {"passed": verdict.passed, "measured_on": verdict.measured_on}
        values = measure(verdict.parity) | told
        metrics |= {f"{verdict.parity.precision}_{name}": value for name, value in values.items()}
    if reference.sets:
        metrics["sets"] = {
            name: list_metrics(one, [replace(v, parity=v.sets[name]) for v in verdicts])
            | {"sha256": one.sha256}
            for name, one in reference.sets.items()
        }
    return metrics


def headline_metrics(reference: Reference, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The few figures that tell experiments apart: BLEU of each graph on each set."""
    metrics = list_metrics(reference, verdicts)
    rounded = {
        f"{prefix}{name}": round(value, 2)
        for prefix, one in [("", metrics), *_prefix_sets(metrics)]
        for name, value in one.items()
        if name.endswith("_bleu") and name != "pytorch_bleu"
    }
    return mark_sample(rounded, reference.sampled_from)


def measure(parity: Parity) -> dict[str, float]:
    """One graph's figures. Differences of rounding are given to two digits."""
    change = parity.bleu_change
    return {
        "bleu": round(parity.bleu, DECIMALS),
        # PyTorch's minus its own: the interval's ends change places with the sign.
        "bleu_loss": _loss(change.value),
        "bleu_loss_low": _loss(change.high),
        "bleu_loss_high": _loss(change.low),
        "identical_share": round(parity.identical_share, 6),
        "max_score_difference": two_digits(parity.max_score_difference),
        "max_logit_difference": two_digits(parity.max_logit_difference),
    }


def summarize(reference: Reference, verdicts: Sequence[Verdict]) -> str:
    """The verdicts as lines for people."""
    lines = [f"PyTorch  BLEU {reference.bleu:.2f}  {reference.bleu_signature}"]
    for verdict in verdicts:
        parity, change = verdict.parity, verdict.parity.bleu_change
        near_ties = f", {parity.num_near_ties} near-ties" if parity.precision == "float32" else ""
        lines.append(
            f"{parity.precision:<8} BLEU {parity.bleu:.2f}  {change.value:+.2f} in "
            f"[{change.low:+.2f}, {change.high:+.2f}]; {parity.identical_share:.2%} of "
            f"{parity.num_sentences} translations equal PyTorch's{near_ties}; "
            f"{verdict.size_bytes / 1e6:.1f} MB; run on {verdict.measured_on.upper()}"
        )
        lines += [
            f"         {name}: BLEU {one.bleu:.2f}  {one.bleu_change.value:+.2f} in "
            f"[{one.bleu_change.low:+.2f}, {one.bleu_change.high:+.2f}]"
            for name, one in verdict.sets.items()
        ]
        lines += [f"         left out: {problem}" for problem in verdict.problems]
    return "\n".join(lines)


def two_digits(value: float) -> float:
    """Rounded to two significant digits, so that reports don't hang on the last bit."""
    return float(f"{value:.1e}")


def _prefix_sets(metrics: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{name}.", one) for name, one in metrics.get("sets", {}).items()]


def _loss(change: float) -> float:
    # Never -0.
    return round(-change, DECIMALS) + 0.0


def _describe(difference: Difference) -> dict[str, Any]:
    margin = None if difference.margin is None else two_digits(difference.margin)
    scores = {
        name: round(getattr(difference, name), DECIMALS) for name in ("pytorch_score", "onnx_score")
    }
    return asdict(difference) | scores | {"margin": margin}
