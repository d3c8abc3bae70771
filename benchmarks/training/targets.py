"""What training speed should reach, and whether a run reached it."""

from dataclasses import dataclass

from benchmarks.decoding.targets import Verdict
from benchmarks.training.measuring import TrainingSpeeds

NAMES = {
    "tutorial": "the tutorials' loop: padded to 128, explicit softmax",
    "plain": "a plain loop on our batches",
    "joeynmt": "Joey NMT",
    "eole": "eole",
    "eager": "ours",
    "compiled": "ours, torch.compile",
    "eole-bfloat16": "eole, bfloat16",
    "eager-bfloat16": "ours, bfloat16",
}
OURS = ("eager", "compiled")
PEERS = ("joeynmt", "eole")
# They train in mixed precision, which is another training, so that its ratio stands by itself.
HALF = ("eole-bfloat16", "eager-bfloat16")
MIN_UTILIZATION = 0.7


@dataclass(frozen=True)
class RatioTarget:
    """Our best median over their best one."""

    text: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    at_least: float


RATIO_TARGETS = (
    RatioTarget("tokens per second / the best peer's", OURS, PEERS, 1.5),
    RatioTarget(
        "the same, bfloat16 allowed", (*OURS, "eager-bfloat16"), (*PEERS, "eole-bfloat16"), 1.5
    ),
    RatioTarget("tokens per second / the tutorials' loop's", OURS, ("tutorial",), 10.0),
)
# Target tokens per second of each shape on one H200, in bfloat16.
CUDA_TARGETS = {"base": 800_000, "big": 300_000}


def judge(speeds: TrainingSpeeds, device: str, shape: str) -> list[Verdict]:
    """A verdict per target that concerns this device and shape."""
    best = speeds.best(OURS)
    if device == "cuda":
        return [_judge_cuda(speeds, best, shape)] if shape in CUDA_TARGETS else []
    found, is_met = "–", None
    utilization = None if best is None else speeds.utilization(best)
    if utilization is not None:
        found, is_met = f"{utilization:.1%}", utilization >= MIN_UTILIZATION
    text = "FLOP/s of the model / the device's peak"
    verdicts = [Verdict(text, found, f"at least {MIN_UTILIZATION:.0%}", is_met)]
    return verdicts + [_judge_ratio(speeds, target) for target in RATIO_TARGETS]


def _judge_ratio(speeds: TrainingSpeeds, target: RatioTarget) -> Verdict:
    found, is_met = "–", None
    best, other = speeds.best(target.ours), speeds.best(target.theirs)
    if best is not None and other is not None:
        ratios = speeds.ratios(best, other)
        value = speeds.tokens_per_second(best) / speeds.tokens_per_second(other)
        found = f"{value:.2f} (rounds {min(ratios):.2f} to {max(ratios):.2f})"
        is_met = value >= target.at_least
    return Verdict(target.text, found, f"at least {target.at_least:g}", is_met)


def _judge_cuda(speeds: TrainingSpeeds, best: str | None, shape: str) -> Verdict:
    wanted = CUDA_TARGETS[shape]
    found, is_met = "–", None
    if best is not None:
        speed = speeds.tokens_per_second(best, sides=("target",))
        found, is_met = f"{speed:,.0f}", speed >= wanted
    return Verdict(f"target tokens per second, {shape}", found, f"at least {wanted:,}", is_met)
