"""Which graphs are good enough to ship."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from transformer.export.config import PREFERRED, ExportConfig, Precision
from transformer.export.verification.parity import Parity, Reference


@dataclass(frozen=True)
class Verdict:
    """A graph's comparison with PyTorch, and each tolerance that it exceeds, in words."""

    parity: Parity
    size_bytes: int
    problems: Sequence[str]
    # What ran the graph: CUDA's kernels round float16 otherwise than the CPU's, which have none
    # of it and compute in float32.
    measured_on: Literal["cpu", "cuda"]
    # The same of further sets, by name; no tolerance holds for them.
    sets: Mapping[str, Parity] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True: it is shipped."""
        return not self.problems


def find_problems(parity: Parity, reference: Reference, config: ExportConfig) -> list[str]:
    """Every tolerance that a graph exceeds; float32 has stricter ones than the others."""
    if parity.precision == "float32":
        return _find_strays(parity, reference, config)
    loss = -parity.bleu_change.value
    if loss <= config.max_bleu_loss:
        return []
    advice = ""
    if parity.precision == "int8" and config.shortlist is not None:
        advice = "; longer lists in export.shortlist, or null, may lose less"
    return [
        f"BLEU is {reference.bleu:.2f} in PyTorch and {parity.bleu:.2f} in {parity.precision}, "
        f"{loss:.2f} less; export.max_bleu_loss = {config.max_bleu_loss} is allowed"
        f"{advice}"
    ]


def choose_defaults(verdicts: Sequence[Verdict]) -> dict[str, Precision]:
    """What runs unless a user asks for something else, by provider."""
    passed = {verdict.parity.precision for verdict in verdicts if verdict.passed}
    return {
        provider: next(precision for precision in choices if precision in passed)
        for provider, choices in PREFERRED.items()
    }


def _find_strays(parity: Parity, reference: Reference, config: ExportConfig) -> list[str]:
    problems = []
    unexplained = [d for d in parity.differences if not d.is_near_tie]
    if unexplained:
        first = unexplained[0]
        problems.append(
            f"{len(unexplained)} of {parity.num_sentences} translations differ by more than a "
            f"near-tie (margin over {parity.near_tie_margin:.2g}; export.near_tie_margin), such "
            f"as row {first.row} with margin {first.margin:.2g}: PyTorch {first.pytorch!r}, ONNX "
            f"{first.onnx!r}"
        )
    if abs(parity.bleu_change.value) > config.max_bleu_difference:
        problems.append(
            f"BLEU is {reference.bleu:.2f} in PyTorch and {parity.bleu:.2f} in ONNX; "
            f"export.max_bleu_difference = {config.max_bleu_difference} is allowed"
        )
    if not parity.max_logit_difference <= config.max_logit_difference:
        problems.append(
            f"logits differ by up to {parity.max_logit_difference:.2g}; "
            f"export.max_logit_difference = {config.max_logit_difference} is allowed"
        )
    return problems
