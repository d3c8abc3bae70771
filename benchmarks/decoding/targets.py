"""The targets of decoding speed and quality, and whether a run met them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.decoding.sampling import Cell
from benchmarks.harness.rounds import Speeds

CTRANSLATE2 = ("ctranslate2-float32", "ctranslate2-int8", "ctranslate2-int8-shortlist")


@dataclass(frozen=True)
class SpeedTarget:
    """One contender's best setting over the best of others, in every cell."""

    text: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    at_least: float


SPEED_TARGETS = (
    SpeedTarget("int8 / CTranslate2's best", ("onnx-int8",), CTRANSLATE2, 1.5),
    SpeedTarget("fp32 / CTranslate2's best fp32", ("onnx-float32",), CTRANSLATE2[:1], 1.0),
    SpeedTarget("int8 / the tutorial's decoding", ("onnx-int8",), ("tutorial",), 10.0),
)
MAX_BLEU_LOSS = 0.3
MAX_COLD_START_SECONDS = 1.0
MIN_CONVERSION_EQUAL = 0.99


@dataclass(frozen=True)
class Verdict:
    """One line: what was asked for, what was found."""

    text: str
    found: str
    target: str
    is_met: bool | None  # None: not measured

    @property
    def word(self) -> str:
        """met, missed or not measured."""
        return "not measured" if self.is_met is None else "met" if self.is_met else "missed"


def judge_speeds(speeds: Speeds, cells: Sequence[Cell]) -> list[Verdict]:
    """A verdict per target and cell."""
    verdicts = []
    for target in SPEED_TARGETS:
        for cell in cells:
            ratio = speeds.ratio(target.ours, target.theirs, cell)
            found, is_met = "–", None
            if ratio is not None:
                found = f"{ratio.value:.2f} (rounds {ratio.low:.2f} to {ratio.high:.2f})"
                is_met = ratio.value >= target.at_least
            text = f"{target.text}, batch {cell.batch_size}, {beam_name(cell.beam_size)}"
            verdicts.append(Verdict(text, found, f"at least {target.at_least:g}", is_met))
    return verdicts


def judge_bleu(bleu: Mapping[tuple[str, int], float], beam_sizes: Sequence[int]) -> list[Verdict]:
    """Whether int8 costs quality, by contender and beam size."""
    verdicts = []
    for beam_size in beam_sizes:
        full, small = bleu.get(("onnx-float32", beam_size)), bleu.get(("onnx-int8", beam_size))
        found, is_met = "–", None
        if full is not None and small is not None:
            found = f"{small - full:+.2f}"
            is_met = small - full >= -MAX_BLEU_LOSS
        text = f"BLEU of int8 less fp32's, {beam_name(beam_size)}"
        verdicts.append(Verdict(text, found, f"at least -{MAX_BLEU_LOSS:g}", is_met))
    return verdicts


def judge_cold_start(seconds: float | None) -> Verdict:
    """Whether the command line answers soon enough."""
    found = "–" if seconds is None else f"{seconds:.2f} s"
    is_met = None if seconds is None else seconds < MAX_COLD_START_SECONDS
    text = "`translate`, process start to first translation"
    return Verdict(text, found, f"under {MAX_COLD_START_SECONDS:g} s", is_met)


def judge_conversion(equal_share: float | None) -> Verdict:
    """Whether CTranslate2 really runs our weights: greedy search in float32 leaves no choice."""
    found = "–" if equal_share is None else f"{equal_share:.1%}"
    is_met = None if equal_share is None else equal_share >= MIN_CONVERSION_EQUAL
    text = "CTranslate2's greedy float32 translations that equal ours"
    return Verdict(text, found, f"at least {MIN_CONVERSION_EQUAL:.0%}", is_met)


def beam_name(beam_size: int) -> str:
    """Such as `greedy`, `beam 4`."""
    return "greedy" if beam_size == 1 else f"beam {beam_size}"
