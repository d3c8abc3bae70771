"""What waits becomes batches: fair, of one kind, bounded."""

import asyncio
import random
import threading

import pytest

from transformer.serving.http.batching import Batcher, Job
from transformer.serving.http.errors import ServiceError
from transformer.serving.translator import Translation


class FakeEngine:
    """Answers each row with itself; waits for `gate` where it is closed."""

    def __init__(self, slots=256):
        self.slots = slots
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()

    def max_slots(self, options):
        return self.slots

    def run(self, rows, options):
        self.batches.append(list(rows))
        self.gate.wait(10)
        if [0] in rows:
            raise RuntimeError("a bad row")
        return [[Translation(f"{options.length_penalty} {row}", 0.0, True)] for row in rows]


@pytest.fixture
def engine():
    return FakeEngine()


@pytest.fixture
def make_batcher():
    batchers = []

    def make(num_workers=1, max_jobs=100, max_pieces=1000, **options):
        batchers.append(Batcher(num_workers, max_jobs, max_pieces, **options))
        return batchers[-1]

    yield make
    for batcher in batchers:
        batcher.close()


def texts(answers):
    return [answer[0].text for answer in answers]


def rows_of(rng, count):
    return [[rng.randrange(1, 9)] * rng.randrange(1, 40) for _ in range(count)]


async def held(batcher, engine, options):
    """Closes the gate, and has the only worker wait behind it."""
    engine.gate.clear()
    job = Job(engine, options, [[7]])
    batcher.submit(job)
    while not engine.batches:
        await asyncio.sleep(0.001)
    engine.batches.clear()
    return job


def test_each_request_has_its_own_answers_in_order(engine, make_batcher, make_options):
    rng = random.Random(1)
    kinds = [make_options(length_penalty=penalty) for penalty in (0.0, 1.0)]
    requests = [(kinds[n % 2], rows_of(rng, rng.randrange(1, 30))) for n in range(50)]
    batcher = make_batcher(num_workers=3, max_pieces=10_000)

    async def ask(options, rows):
        job = Job(engine, options, rows)
        batcher.submit(job)
        return texts(await job.future)

    async def ask_all():
        return await asyncio.gather(*(ask(*request) for request in requests))

    for (options, rows), answers in zip(requests, asyncio.run(ask_all()), strict=True):
        assert answers == [f"{options.length_penalty} {row}" for row in rows]
    for batch in engine.batches:
        assert len(batch) * max(max(map(len, batch)), 16) <= 256 or len(batch) == 1
    assert (batcher.num_jobs, batcher.num_pieces) == (0, 0)


def test_what_waits_is_one_batch(engine, make_batcher, make_options):
    batcher = make_batcher()

    async def ask():
        first = await held(batcher, engine, make_options())
        jobs = [Job(engine, make_options(), [[n]]) for n in range(1, 9)]
        for job in jobs:
            batcher.submit(job)
        engine.gate.set()
        await asyncio.gather(*(job.future for job in (first, *jobs)))

    asyncio.run(ask())
    assert sorted(engine.batches[0]) == [[n] for n in range(1, 9)]


def test_a_short_text_is_not_kept_waiting_by_a_document(engine, make_batcher, make_options):
    batcher = make_batcher(max_pieces=10_000)

    async def ask():
        first = await held(batcher, engine, make_options())
        document = Job(engine, make_options(), [[1] * 5] * 3000)
        short = Job(engine, make_options(), [[2]])
        batcher.submit(document)
        batcher.submit(short)
        engine.gate.set()
        await asyncio.gather(first.future, short.future, document.future)

    asyncio.run(ask())
    place = next(n for n, batch in enumerate(engine.batches) if [2] in batch)
    assert place <= 1
    assert len(engine.batches) > 100


def test_a_document_is_not_kept_waiting_by_short_texts(engine, make_batcher, make_options):
    batcher = make_batcher()

    async def ask():
        first = await held(batcher, engine, make_options())
        document = Job(engine, make_options(), [[1]] * 3)
        batcher.submit(document)
        others = []
        engine.gate.set()
        while not document.future.done():
            while batcher.num_jobs < 20:  # there is always one more that waits
                others.append(Job(engine, make_options(), [[2]] * 3))
                batcher.submit(others[-1])
            await asyncio.sleep(0.001)
            assert len(others) < 300
        await asyncio.gather(first.future, *(job.future for job in others))

    asyncio.run(ask())


def test_a_long_row_stands_among_long_ones(engine, make_batcher, make_options):
    batcher = make_batcher()

    async def ask():
        first = await held(batcher, engine, make_options())
        jobs = [Job(engine, make_options(), [[1] * length]) for length in (60, 5, 64, 6, 62, 7)]
        for job in jobs:
            batcher.submit(job)
        engine.gate.set()
        await asyncio.gather(*(job.future for job in (first, *jobs)))

    asyncio.run(ask())
    assert sorted(map(len, engine.batches[0]))[-3:] == [60, 62, 64]
    assert len(engine.batches[0]) <= 256 // 64


def test_too_much_is_refused_with_a_time_to_come_back(engine, make_batcher, make_options):
    batcher = make_batcher(max_jobs=2)

    async def ask():
        first = await held(batcher, engine, make_options())
        second = Job(engine, make_options(), [[1]])
        batcher.submit(second)
        with pytest.raises(ServiceError, match="2 requests wait") as caught:
            batcher.submit(Job(engine, make_options(), [[2]]))
        engine.gate.set()
        await asyncio.gather(first.future, second.future)
        await asyncio.sleep(0)
        batcher.submit(third := Job(engine, make_options(), [[3]]))
        await third.future
        return caught.value

    error = asyncio.run(ask())
    assert (error.status, error.retry_after_seconds) == (429, 1)


def test_pieces_are_bounded_too_but_one_request_may_have_more(engine, make_batcher, make_options):
    batcher = make_batcher(max_pieces=10)

    async def ask():
        engine.gate.clear()
        large = Job(engine, make_options(), [[1]] * 50)
        batcher.submit(large)
        with pytest.raises(ServiceError, match="Slowdown"):
            batcher.submit(Job(engine, make_options(), [[2]]))
        engine.gate.set()
        assert len(await large.future) == 50

    asyncio.run(ask())


def test_a_queue_takes_as_many_pieces_as_it_may(engine, make_batcher, make_options):
    batcher = make_batcher(max_pieces=10)

    async def ask():
        first = await held(batcher, engine, make_options())  # of one piece
        batcher.submit(full := Job(engine, make_options(), [[1]] * 9))
        with pytest.raises(ServiceError, match="Slowdown"):
            batcher.submit(Job(engine, make_options(), [[2]]))
        engine.gate.set()
        await asyncio.gather(first.future, full.future)

    asyncio.run(ask())


def test_nothing_is_done_for_who_has_gone(engine, make_batcher, make_options):
    batcher = make_batcher()

    async def ask():
        first = await held(batcher, engine, make_options())
        gone, stays = (Job(engine, make_options(), [[n]] * 40) for n in (1, 2))
        batcher.submit(gone)
        batcher.submit(stays)
        gone.future.cancel()
        await asyncio.sleep(0)
        assert batcher.num_jobs == 2
        engine.gate.set()
        await asyncio.gather(first.future, stays.future)

    asyncio.run(ask())
    assert all([1] not in batch for batch in engine.batches)


def test_a_row_that_fails_fails_alone(engine, make_batcher, make_options):
    batcher = make_batcher()

    async def ask():
        first = await held(batcher, engine, make_options())
        jobs = [Job(engine, make_options(), [[n]]) for n in (0, 1)]
        for job in jobs:
            batcher.submit(job)
        engine.gate.set()
        await first.future
        with pytest.raises(RuntimeError, match="a bad row"):
            await jobs[0].future
        return texts(await jobs[1].future)

    assert asyncio.run(ask()) == ["0.6 [1]"]


def test_batches_are_told(engine, make_batcher, make_options):
    told = []
    batcher = make_batcher(observe=lambda pieces, seconds: told.append((pieces, seconds >= 0)))

    async def ask():
        batcher.submit(job := Job(engine, make_options(), [[1], [2]]))
        await job.future

    asyncio.run(ask())
    assert told == [(2, True)]
