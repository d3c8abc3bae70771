from collections.abc import Callable

import numpy as np
import pytest

from transformer.pretraining.span_corruption import Corruption
from transformer.text.pairs import Integers


@pytest.fixture(scope="session")
def restore_spans() -> Callable[[Corruption, Integers], Integers]:
    """Makes the sentence of a corruption: each sentinel of the source gives way to its span."""

    def restore(corruption: Corruption, sentinels: Integers) -> Integers:
        is_sentinel = np.isin(corruption.target, sentinels)
        spans = np.split(corruption.target, np.flatnonzero(is_sentinel))[1:]
        by_sentinel = {int(span[0]): span[1:] for span in spans}
        parts = [by_sentinel.get(int(id), np.array([id])) for id in corruption.source]
        return np.concatenate(parts).astype(np.int64)

    return restore
