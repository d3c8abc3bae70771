"""The `tokenize` section: which training pairs become ids."""

from pydantic import Field

from transformer.config import Section


class TokenizeConfig(Section):
    """How long a training sequence may be."""

    # A training pair with a longer side, in tokens with the end mark, is dropped, then counted.
    # Validation pairs are all kept; those beyond `model.max_positions` don't count in its loss.
    # At most `model.max_positions`.
    max_tokens: int = Field(ge=2)
