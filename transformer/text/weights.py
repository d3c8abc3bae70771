"""How often each training pair comes, by the weight of the part of the corpus that it is from."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from transformer.text.corpus import BATCH_PAIRS, ORIGIN, open_parquet, part_path
from transformer.text.manifest import read_manifest


class Weights:
    """The weights of a corpus's parts; two bytes for each raw training pair.

    The weight 2.5 gives a pair twice, and a random half of the pairs a third time.

    Args:
        raw: what `download` wrote.
        seed: of the draw.
    """

    def __init__(self, raw: Path, seed: int) -> None:
        # By part, how many pairs there are with their weight; empty where the corpus has no parts.
        self.counts = Counter[str]()
        with open_parquet(part_path(raw, "train")) as file:
            if ORIGIN not in file.schema_arrow.names:
                return
            origins = read_manifest(raw).origins
            if not origins:
                return
            self._names = list(origins)
            number = {name: n for n, name in enumerate(origins)}
            batches = file.iter_batches(BATCH_PAIRS, columns=[ORIGIN])
            rows = (one for batch in batches for one in batch.columns[0].to_pylist())
            parts = (number[row.partition("/")[0]] for row in rows)
            self._parts = np.fromiter(parts, np.uint16, file.metadata.num_rows)
        self.counts.update(dict.fromkeys(origins, 0))
        self._weights = np.array([part.weight for part in origins.values()])
        self._random = np.random.default_rng(seed)

    def repeat(self, table: Any) -> Any:
        """The next pairs that are kept, as often as they come.

        Args:
            table: with the column `line`, of the raw training part, from 1; all tables come in
                order, cut anywhere.
        """
        if not self.counts:
            return table
        parts = self._parts[table["line"].to_numpy() - 1]
        times = np.floor(self._weights[parts] + self._random.random(len(parts))).astype(np.int64)
        counts = np.bincount(parts, times, len(self._names)).astype(np.int64)
        self.counts.update(dict(zip(self._names, counts.tolist(), strict=True)))
        return table.take(np.repeat(np.arange(len(parts)), times))
