"""How often a training pair comes, by the weight of the part of the corpus that it is from."""

from pathlib import Path
from typing import Any

import numpy as np

from transformer.text.corpus import ORIGIN
from transformer.text.manifest import MANIFEST, read_manifest
from transformer.text.synthetic import SYNTHETIC, SyntheticText


class Weights:
    """The weights of a corpus's parts, and of the corpus beside what a translator made.

    The weight 2.5 gives a pair twice, and a random half of the pairs a third time.

    Args:
        raw: what `download` wrote.
        made: what `synthesize` did.
        seed: of the draw.
    """

    def __init__(self, raw: Path, made: SyntheticText | None, seed: int) -> None:
        # Pairs with origins that were not collected have no manifest; the stage sees to those.
        origins = read_manifest(raw).origins if (raw / MANIFEST).exists() else {}
        self._weights = {name: part.weight for name, part in origins.items()}
        self._original_weight = 1.0 if made is None else made.original_weight
        self._random = np.random.default_rng(seed)

    def repeat(self, table: Any) -> Any:
        """The next pairs that are kept, as often as they come.

        Args:
            table: with the column `origin`. All tables come in order, cut anywhere.
        """
        if not self._weights and self._original_weight == 1:
            return table
        origins = table[ORIGIN].combine_chunks().dictionary_encode()
        names = [origin.partition("/")[0] for origin in origins.dictionary.to_pylist()]
        weights = np.array([self._weight(name) for name in names])[origins.indices.to_numpy()]
        times = np.floor(weights + self._random.random(len(weights))).astype(np.int64)
        return table.take(np.repeat(np.arange(len(times)), times))

    def _weight(self, name: str) -> float:
        if name == SYNTHETIC:
            return 1.0
        return self._original_weight * (self._weights[name] if self._weights else 1.0)
