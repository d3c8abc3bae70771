"""What a run of the training benchmark found: its table and its targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar

from benchmarks.harness.findings import Findings
from benchmarks.harness.report import MEBIBYTE, Verdict, judge, markdown_table
from benchmarks.harness.rounds import Figures

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
# Our best median over their best one: at least so much.
RATIO_TARGETS = {
    "tokens per second / the best peer's": (OURS, PEERS, 1.5),
    "the same, bfloat16 allowed": (
        (*OURS, "eager-bfloat16"),
        (*PEERS, "eole-bfloat16"),
        1.5,
    ),
    "tokens per second / the tutorials' loop's": (OURS, ("tutorial",), 10.0),
}
# Target tokens per second of each shape on one H200, in bfloat16.
CUDA_TARGETS = {"base": 800_000, "big": 300_000}


@dataclass
class TrainingFindings(Findings):
    """All that a run found."""

    title: ClassVar[str] = "Training speed"
    command: ClassVar[str] = "training"
    names: ClassVar[Mapping[str, str]] = NAMES

    device: str
    shape: str
    start_seconds: dict[str, float] = field(default_factory=dict)  # process start to first step
    precisions: dict[str, str] = field(default_factory=dict)  # of the products

    def verdicts(self) -> list[Verdict]:
        """A verdict per target that concerns this device and shape."""
        speeds, best = self.speeds, self.speeds.best(OURS)
        if self.device == "cuda":
            if self.shape not in CUDA_TARGETS:
                return []
            found = speeds.median(best, figure=target_speed)
            text = f"target tokens per second, {self.shape}"
            return [judge(text, found, CUDA_TARGETS[self.shape], "{:,.0f}")]
        found = speeds.median(best, figure=utilization)
        text = "FLOP/s of the model / the device's peak"
        return [
            judge(text, found, MIN_UTILIZATION, "{:.1%}"),
            *(
                judge(text, speeds.ratio(ours, theirs), least)
                for text, (ours, theirs, least) in RATIO_TARGETS.items()
            ),
        ]

    def table(self) -> str:
        """A row per contender, slowest first as they are listed."""
        memory = "peak GPU memory, MiB" if self.device == "cuda" else "peak memory, MiB"
        header = ["contender", "precision", "tokens/s", "of them target", "over the rounds"]
        header += ["padding", "FLOP utilisation", "peak, GFLOP/s", "first step after, s", memory]
        speeds, rows = self.speeds, []
        for variant in self.variants:
            who, measured = variant.contender, speeds.rounds(variant)
            rounds = [one.figures for one in measured]
            row = [" ".join(filter(None, [NAMES[who], self.versions.get(who, "")]))]
            if not rounds:
                rows.append([*row, *["–"] * (len(header) - 1)])
                continue
            by_round = [one.speed for one in measured]
            row += [self.precisions[who], f"{median(by_round):,.0f}"]
            row.append(f"{median(map(target_speed, rounds)):,.0f}")
            row.append(f"{min(by_round):,.0f} to {max(by_round):,.0f}")
            row.append(f"{padding_share(rounds):.1%}")
            row.append(f"{median(map(utilization, rounds)):.1%}")
            row.append(f"{median(one['peak_flops'] for one in rounds) / 1e9:,.0f}")
            row.append(f"{self.start_seconds[who]:.1f}")
            row.append(f"{(self.peak_bytes(variant) or 0) / MEBIBYTE:,.0f}")
            rows.append(row)
        return markdown_table(header, rows, num_text_columns=2)

    def more(self) -> dict[str, Any]:
        """Starts and precisions."""
        return {"precisions": self.precisions, "start_seconds": self.start_seconds}


def target_speed(one: Figures) -> float:
    """Target tokens per second."""
    return one["target_tokens"] / one["seconds"]


def utilization(one: Figures) -> float:
    """The FLOP/s that the model needed over the device's peak."""
    return one["flops"] / one["seconds"] / one["peak_flops"]


def padding_share(rounds: Sequence[Figures]) -> float:
    """The share of all positions of the padded batches that held no real token."""
    num_slots = sum(one["num_slots"] for one in rounds)
    return 1 - sum(one["num_tokens"] for one in rounds) / num_slots
