"""How training text is cut into other pieces in each epoch: `train.segmentation`."""

from typing import Annotated, Literal

from pydantic import Field

from transformer.config import Section


class BpeDropout(Section):
    """Merges are left out at random (Provilkov et al. 2020); for vocabularies of kind `bpe`."""

    kind: Literal["bpe_dropout"]
    # Of leaving a merge out, at each turn; 0.1 in the paper.
    probability: float = Field(ge=0, lt=1)


class UnigramSampling(Section):
    """Segmentations by their probability (Kudo 2018); for vocabularies of kind `unigram`."""

    kind: Literal["unigram_sampling"]
    # The exponent of the probability: 0 draws all evenly, large numbers take the best.
    alpha: float = Field(ge=0, le=100)


SegmentationConfig = Annotated[BpeDropout | UnigramSampling, Field(discriminator="kind")]
