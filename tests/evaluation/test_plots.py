"""Plots are PNG files that repeat byte for byte."""

import subprocess
import sys

import pytest

from transformer.evaluation.plots import plot_attention, plot_bleu_by_length
from transformer.evaluation.scores import LengthGroup

GROUPS = [LengthGroup(0, 5, 12, 80.5), LengthGroup(6, 10, 40, 61.25), LengthGroup(11, None, 3, 0.0)]
ATTENTION = ([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], ["▁un", "$x^$", "</s>"], ["▁a", "</s>"])
PNG = b"\x89PNG\r\n\x1a\n"


def chunks(data: bytes) -> set[bytes]:
    """The kinds of chunks in a PNG file."""
    kinds, at = set(), len(PNG)
    while at < len(data):
        kinds.add(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return kinds


@pytest.mark.parametrize(
    "plot",
    [
        lambda path: plot_bleu_by_length(GROUPS, path),
        lambda path: plot_attention(*ATTENTION, path),
    ],
)
def test_a_plot_repeats_byte_for_byte_without_metadata(plot, tmp_path):
    first, second = tmp_path / "a" / "1.png", tmp_path / "b" / "2.png"
    plot(first)
    plot(second)
    data = first.read_bytes()
    assert data.startswith(PNG)
    assert data == second.read_bytes()
    assert not chunks(data) & {b"tEXt", b"zTXt", b"iTXt", b"tIME"}


def test_plotting_loads_no_pyplot():
    code = "import sys, transformer.evaluation.plots; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_weights_that_do_not_fit_their_tokens_are_refused(tmp_path):
    weights, sources, targets = ATTENTION
    with pytest.raises(ValueError, match=r"2 rows of \[3\] columns, but there are 1 target"):
        plot_attention(weights, sources, targets[:1], tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
