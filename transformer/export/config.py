"""The `export` section: what the translator's graph looks like, how far it may stray."""

from typing import Literal

from pydantic import Field

from transformer.config import Section


class ExportConfig(Section):
    """The ONNX graph, with the tolerances of its comparison with PyTorch on the test set."""

    # fused: onnxruntime's own attention operator, faster. portable: standard operators only.
    attention: Literal["fused", "portable"]
    # The most that corpus BLEU may differ, in points.
    max_bleu_difference: float = Field(ge=0)
    # The most that any logit may differ, over greedy translations of some test sentences.
    max_logit_difference: float = Field(ge=0)
    # Translations may differ where two scores that decided PyTorch's search lie no further apart
    # than this; null takes twice the largest score difference over the equal translations.
    near_tie_margin: float | None = Field(ge=0)
