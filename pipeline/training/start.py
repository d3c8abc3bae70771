"""A training that begins with the weights of the stage `pretrain`."""

from collections.abc import Callable

import typer

from pipeline.paths import PRETRAINED
from transformer.model.transformer import Transformer
from transformer.pretraining.initialize import describe_taken, take_weights
from transformer.pretraining.store import load_pretrained
from transformer.text.ids import IdsMeta


def start_from_pretrained(meta: IdsMeta, is_told: bool) -> Callable[[Transformer], None]:
    """Takes what fits of the pretrained weights; if `is_told`, prints what was taken and what not.

    Raises:
        ValueError: there are no pretrained weights.
    """
    pretrained = load_pretrained(PRETRAINED)
    same_vocabulary = pretrained.tokenizer_sha256 == meta.tokenizer_sha256

    def initialize(model: Transformer) -> None:
        report = take_weights(model, pretrained.weights, same_vocabulary=same_vocabulary)
        left = [one.name for one in report if one.num_taken < one.num_values]
        if left and pretrained.is_imported:
            raise ValueError(
                f"the section model, or the vocabulary, is not the imported model's: {left[0]} and "
                f"{len(left) - 1} more tensors don't fit; run `python -m pipeline import` again"
            )
        if is_told:
            typer.echo(f"Weights from {PRETRAINED}:\n{describe_taken(report)}")

    return initialize
