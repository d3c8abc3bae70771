"""The picture of how far the exported graphs stray from PyTorch."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer.evaluation.plots import write_figure
from transformer.export.verification.gate import Verdict
from transformer.export.verification.histogram import bin_edges, count_bins


def plot_parity(
    verdicts: Sequence[Verdict], pytorch_bleu: float, max_bleu_loss: float, path: Path
) -> None:
    """Writes two pictures side by side: what each graph costs in BLEU; how far scores move.

    Args:
        verdicts: float32's first.
        pytorch_bleu: what the graphs' BLEU is held against.
        max_bleu_loss: the tolerance of all but float32, drawn as a line.
        path: the PNG file.
    """
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_bleu(left, verdicts, pytorch_bleu, max_bleu_loss)
    _draw_histogram(right, verdicts)
    write_figure(figure, path)


def _draw_bleu(
    axes: Axes, verdicts: Sequence[Verdict], pytorch_bleu: float, tolerance: float
) -> None:
    axes.axvline(0, color="black", linewidth=1)
    if len(verdicts) > 1:
        axes.axvline(-tolerance, color="tab:red", linestyle="--", linewidth=1)
        axes.annotate(
            "tolerance",
            (-tolerance, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            color="tab:red",
            va="top",
        )
    for place, verdict in enumerate(verdicts):
        change = verdict.parity.bleu_change
        # Percentiles of resamples need not lie around the value, but for rare cases they do.
        errors = [[max(0.0, change.value - change.low)], [max(0.0, change.high - change.value)]]
        axes.errorbar([change.value], [place], xerr=errors, fmt="o", capsize=5, color=f"C{place}")
        axes.annotate(
            f"{verdict.parity.bleu:.2f}",
            (change.value, place),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
        )
    axes.set_yticks(range(len(verdicts)), [_label(verdict) for verdict in verdicts])
    axes.set_ylim(len(verdicts) - 0.5, -0.7)
    widest = max([tolerance, 0.05, *(abs(end) for v in verdicts for end in _ends(v))])
    axes.set_xlim(-1.25 * widest, 1.25 * widest)
    axes.set_xlabel(f"BLEU minus PyTorch's {pytorch_bleu:.2f}, with 95 % interval (paired)")


def _draw_histogram(axes: Axes, verdicts: Sequence[Verdict]) -> None:
    edges = [10**edge for edge in bin_edges()]
    for place, verdict in enumerate(verdicts):
        parity = verdict.parity
        axes.stairs(
            count_bins(parity.score_differences),
            edges,
            fill=True,
            alpha=0.6,
            color=f"C{place}",
            label=f"{parity.precision}: {parity.identical_share:.1%} identical",
        )
    axes.set_xscale("log")
    axes.set_xlabel("difference of the score, of identical translations")
    axes.set_ylabel("sentences")
    axes.legend()


def _label(verdict: Verdict) -> str:
    return verdict.parity.precision if verdict.passed else f"{verdict.parity.precision}\n(failed)"


def _ends(verdict: Verdict) -> tuple[float, float]:
    return verdict.parity.bleu_change.low, verdict.parity.bleu_change.high
