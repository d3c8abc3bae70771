"""The `export` section: what the translator's graphs look like, how far they may stray."""

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from transformer.config import Section

# Of a graph: float32 is the reference; int8 is for the CPU, float16 for CUDA.
Precision = Literal["float32", "int8", "float16"]


class PrecisionForm(NamedTuple):
    """What a precision comes to in the translator's folder."""

    file: str
    # Of the weights that PyTorch exports; int8 is made of float32's.
    dtype: Literal["float32", "float16"]
    # Judged by the kernels that will serve it, where they are to be had.
    prefers_cuda: bool


FORMS: dict[Precision, PrecisionForm] = {
    "float32": PrecisionForm("translator.onnx", "float32", False),
    "int8": PrecisionForm("translator.int8.onnx", "float32", False),
    "float16": PrecisionForm("translator.float16.onnx", "float16", True),
}
# What `auto` takes on each provider: the first of these that passed. float32 always has.
PREFERRED: dict[str, tuple[Precision, ...]] = {
    "cpu": ("int8", "float32"),
    "cuda": ("float16", "float32"),
}


class ShortlistConfig(Section):
    """How many target tokens a sentence's translation is looked for among."""

    # The most frequent ones, open to every sentence.
    num_frequent: int = Field(ge=1)
    # Besides, for each source token, what it most probably translates to.
    num_per_token: int = Field(ge=2)


class ExportConfig(Section):
    """The ONNX graphs, with the tolerances of their comparison with PyTorch on the test set."""

    # fused: onnxruntime's own attention operator, faster. portable: standard operators only.
    attention: Literal["fused", "portable"]
    # One graph for each, float32 first. A float32 graph beyond its tolerances fails the stage;
    # another one is left out of the folder.
    precisions: list[Precision] = Field(min_length=1)
    # int8: the words that each sentence chooses among (`transformer.export.shortlist`); null: the
    # whole vocabulary, as float32 and float16 always do.
    shortlist: ShortlistConfig | None
    # float32: the most that corpus BLEU may differ, in points.
    max_bleu_difference: float = Field(ge=0)
    # float32: the most that any logit may differ, over greedy translations of some test sentences.
    max_logit_difference: float = Field(ge=0)
    # float32: translations may differ where two scores that decided PyTorch's search lie no
    # further apart than this; null takes twice the largest score difference over the equal
    # translations.
    near_tie_margin: float | None = Field(ge=0)
    # int8 and float16: the most corpus BLEU below PyTorch's, in points. A gain never fails.
    max_bleu_loss: float = Field(ge=0)

    @model_validator(mode="after")
    def _float32_comes_first(self) -> Self:
        if self.precisions[0] != "float32" or len(set(self.precisions)) < len(self.precisions):
            raise ValueError(
                f"precisions = {self.precisions}: float32 must come first, and each stand once, "
                "such as [float32, int8]"
            )
        return self
