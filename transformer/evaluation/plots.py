"""Pictures of an evaluation, as PNG files that are the same for the same figures."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from transformer.evaluation.scores import LengthGroup
from transformer.files import atomic_write

# Tried in this order for letters that the first one lacks; those not installed are passed over.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Noto Sans")
INCHES_PER_TOKEN = 0.32


def plot_bleu_by_length(groups: Sequence[LengthGroup], path: Path) -> None:
    """Writes a bar chart of BLEU by source length; each bar carries its number of sentences.

    Args:
        groups: short sentences first, none empty.
        path: the PNG file.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    bars = axes.bar([group.label for group in groups], [group.bleu for group in groups])
    axes.bar_label(bars, [f"{g.bleu:.1f}\nn={g.num_sentences}" for g in groups], padding=2)
    axes.set_xlabel("source tokens")
    axes.set_ylabel("BLEU")
    axes.set_ylim(0, max([1.0, *(group.bleu * 1.2 for group in groups)]))
    write_figure(figure, path)


def plot_attention(
    weights: Sequence[Sequence[float]],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    path: Path,
) -> None:
    """Writes a picture of attention weights: a row per target token, a column per source token.

    Args:
        weights: 0 to 1, a row for each of `target_tokens`, as long as `source_tokens`.
        source_tokens: names of the columns.
        target_tokens: names of the rows.
        path: the PNG file.

    Raises:
        ValueError: the weights' shape doesn't fit the tokens.
    """
    shape = (len(weights), {len(row) for row in weights})
    if shape != (len(target_tokens), {len(source_tokens)}):
        raise ValueError(
            f"attention weights have {shape[0]} rows of {sorted(shape[1])} columns, but there are "
            f"{len(target_tokens)} target and {len(source_tokens)} source tokens"
        )
    width = 2 + INCHES_PER_TOKEN * len(source_tokens)
    height = 1.5 + INCHES_PER_TOKEN * len(target_tokens)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(weights, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    installed = {font.name for font in font_manager.fontManager.ttflist}
    axes.set_xticks(range(len(source_tokens)), source_tokens, rotation=60, ha="right")
    axes.set_yticks(range(len(target_tokens)), target_tokens)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)  # a $ in a sentence is a $
        label.set_fontfamily([font for font in FONTS if font in installed])
    axes.set_xlabel("source")
    axes.set_ylabel("target")
    figure.colorbar(image, ax=axes)
    write_figure(figure, path)


def write_figure(figure: Figure, path: Path) -> None:
    """Writes a PNG that is the same for the same figure."""
    # The object interface throughout: pyplot would keep every figure in a global list.
    FigureCanvasAgg(figure)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100, metadata={"Software": None})
