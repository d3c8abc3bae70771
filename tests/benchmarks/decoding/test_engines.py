"""A batch in shares, side by side: what one worker gives."""

import threading

import numpy as np
import pytest

from benchmarks.decoding.engines import Batch, OnnxEngine
from benchmarks.decoding.work import Work


class Session:
    """Answers each sentence with itself; remembers which threads asked."""

    def __init__(self):
        self.threads = set()

    def run(self, names, inputs):
        self.threads.add(threading.get_ident())
        source = inputs["source"]
        assert len(inputs["max_length"]) == len(source)
        return source[:, None], np.zeros((len(source), 1)), (source != 9).sum(1)[:, None]


@pytest.mark.parametrize("num_workers", [1, 2, 3, 8])
def test_shares_give_the_answers_of_the_batch_in_its_order(num_workers):
    sources = [[n] * (n % 3 + 1) for n in range(5)]
    work = Work(9, [0, 1, 2, 3], {"length_penalty": 1.0, "patience": 2.0}, sources, [4] * 5, {})
    session = Session()
    engine = OnnxEngine(session, work, num_workers)
    assert engine.read(engine.run(Batch(sources, [4] * 5), 1)) == sources
    assert threading.get_ident() in session.threads  # the caller's takes a share
    assert len(session.threads) <= num_workers
