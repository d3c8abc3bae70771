"""What workers measure and answer."""

from dataclasses import asdict
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.decoding.engines import Batch, OnnxEngine
from benchmarks.decoding.work import MAX_SECONDS, MIN_SECONDS, Work, measure, translate
from transformer.search.options import SearchOptions

OPTIONS = {"length_penalty": 1.0, "patience": 2.0}
SOURCES = [[5, 3], [6, 7, 3], [8, 3]]
WORK = Work(0, [0, 1, 2, 3], OPTIONS, SOURCES, [4, 5, 4], {"2": [[1, 0], [2]]})


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


def test_the_graph_gets_what_the_options_of_a_search_give():
    options = SearchOptions(4, 1, 0.8, 2.0, 1.5, 2, 9)
    limits = [options.max_length(len(ids)) for ids in SOURCES]
    work = Work(0, [0, 1, 2, 3], asdict(options), SOURCES, limits, {})
    given = {}
    session = SimpleNamespace(run=lambda names, inputs: given.update(inputs) or [])
    OnnxEngine(session, work).run(Batch(SOURCES, limits), 4)
    wanted = options.graph_inputs(SOURCES, pad_id=0)
    assert given.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(given[name], value)
        assert given[name].dtype == value.dtype
