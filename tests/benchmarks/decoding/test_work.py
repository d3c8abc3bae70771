"""What workers measure and answer."""

import math
from dataclasses import asdict
from itertools import count

import numpy as np
import pytest

from benchmarks.decoding.engines import OnnxEngine
from benchmarks.decoding.work import MAX_SECONDS, MIN_SECONDS, Work, measure, translate
from transformer.search.options import SearchOptions

SEARCH = SearchOptions(
    beam_size=4,
    num_best=1,
    length_penalty=1.0,
    patience=math.inf,
    max_length_factor=1.0,
    max_length_extra=2,
    max_positions=9,
)
WORK = Work(0, [[5, 3], [6, 7, 3], [8, 3]], [4, 5, 4], asdict(SEARCH), {"2": [[1, 0], [2]]})


class CopyingEngine:
    """Translates a sentence by itself."""

    def __init__(self):
        self.batches = []

    def prepare(self, sources, max_lengths):
        return list(sources)

    def run(self, batch, beam_size):
        self.batches.append((len(batch), beam_size))
        return batch

    def read(self, result):
        return result


def test_work_is_read_back(tmp_path):
    WORK.save(tmp_path / "work.json")
    assert Work.load(tmp_path / "work.json") == WORK


def test_a_measurement_warms_up_and_repeats_its_plan_until_it_took_long_enough():
    engine, ticks = CopyingEngine(), count()
    step = MIN_SECONDS / 3  # for each batch, so that two passes of two batches are needed
    found = measure(engine, WORK, WORK.plans["2"], 4, lambda: next(ticks) * step)
    assert found == {"seconds": pytest.approx(4 * step), "num_tokens": 14, "num_batches": 4}
    assert engine.batches == [(2, 4), (1, 4)] * 3


def test_a_measurement_that_takes_too_long_is_left_off():
    engine, ticks = CopyingEngine(), count()
    found = measure(engine, WORK, WORK.plans["2"], 4, lambda: next(ticks) * MAX_SECONDS)
    assert found == {"seconds": MAX_SECONDS, "num_tokens": 5, "num_batches": 1}


def test_translations_stand_in_the_order_of_the_sentences():
    assert translate(CopyingEngine(), WORK, WORK.plans["2"], 1) == WORK.sources
    assert translate(CopyingEngine(), WORK, [[2]], 1) == [[], [], [8, 3]]


class CopyingSession:
    """Answers like an exported graph; each translation is its padded source."""

    def __init__(self):
        self.shapes = []

    def run(self, names, inputs):
        source = inputs["source"]
        self.shapes.append(source.shape)
        return [source[:, None], None, (source != 0).sum(1, keepdims=True)]


@pytest.mark.parametrize(
    ("num_workers", "shapes"), [(1, [(3, 3)]), (2, [(2, 3), (1, 2)])], ids=["one", "two"]
)
def test_the_graph_gets_shares_of_a_batch(num_workers, shapes):
    session = CopyingSession()
    engine = OnnxEngine(session, WORK, num_workers)
    batch = engine.prepare(WORK.sources, WORK.max_lengths)
    assert engine.read(engine.run(batch, 1)) == WORK.sources
    assert sorted(session.shapes, key=np.prod, reverse=True) == shapes
