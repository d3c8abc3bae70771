"""What a translator made of a model's training text, as its card tells it."""

from typing import Literal

from pydantic import Field

from transformer.config import Section


class SyntheticShare(Section):
    """What a translator made of the training text of a model."""

    kind: Literal["distillation", "back_translation"]
    # The translator's, and the text that it was trained on.
    model_hash: str = Field(pattern="^[0-9a-f]{64}$")
    corpus: str
    license: str
    # Training pairs, those of more weight counted again, and their share of all.
    num_pairs: int = Field(ge=0)
    share: float = Field(ge=0, le=1)
