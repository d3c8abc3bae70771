"""Batches of what waits: requests' pieces, taken in turn whenever a worker is free.

There is no timer. A worker that is free takes at once what waits, as one batch of like lengths;
while all are busy more gathers. Each request gives one piece in its turn, so that a document of
thousands of sentences delays a short text by a batch or two, and nothing waits for ever.
"""

import asyncio
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from transformer.search.options import SearchOptions
from transformer.serving.http.errors import ServiceError
from transformer.serving.translator import MIN_LENGTH, Translation

# Batches that a worker chooses its own from: more of them pad less, and let newcomers wait longer.
_LOOKAHEAD = 2
# Of threads that translate, beside those of the event loop.
_NICENESS = 5
# How fast the estimate of a piece's time follows.
_SMOOTHING = 0.1

Translations = list[Translation]


class Engine(Protocol):
    """What runs a batch: a `Translator`."""

    def run(self, rows: list[list[int]], options: SearchOptions) -> list[Translations]:
        """The translations of each row."""

    def max_slots(self, options: SearchOptions) -> int:
        """Rows times the longest row's tokens of a batch, at most."""


class Job:
    """The pieces of one request, for one engine with one group of options.

    `future` has their translations, in order. Cancelling it takes the job out of the queue. To be
    used on the event loop that runs as it is made.
    """

    def __init__(self, engine: Engine, options: SearchOptions, rows: Sequence[list[int]]) -> None:
        self.engine = engine
        self.options = options
        self.rows = rows
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[Translations]] = self.loop.create_future()
        # Like lengths stand together already; the last is taken first.
        self._todo = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
        self._answers: list[Translations] = [[]] * len(rows)
        self._num_missing = len(rows)

    def take(self) -> "_Piece | None":
        """The next piece; None if all have been taken, or nobody waits for them any more."""
        return _Piece(self, self._todo.pop()) if self._todo and not self.future.done() else None

    def receive(self, row: int, answer: Translations | BaseException) -> None:
        """Takes in an answer, or why there is none. On the job's event loop."""
        if self.future.done():
            return
        if isinstance(answer, BaseException):
            self.future.set_exception(answer)
            return
        self._answers[row] = answer
        self._num_missing -= 1
        if not self._num_missing:
            self.future.set_result(self._answers)


class _Piece(NamedTuple):
    job: Job
    row: int

    @property
    def ids(self) -> list[int]:
        return self.job.rows[self.row]

    @property
    def length(self) -> int:
        return max(MIN_LENGTH, len(self.ids))


class Batcher:
    """Threads that translate what is submitted; onnxruntime leaves them to run side by side.

    All jobs are of one event loop.

    Args:
        num_workers: threads.
        max_jobs: jobs that may wait or run.
        max_pieces: their pieces; one job alone may have more.
        observe: told of each batch: its pieces, and the seconds that it took. From any thread.
    """

    def __init__(
        self,
        num_workers: int,
        max_jobs: int,
        max_pieces: int,
        observe: Callable[[int, float], None] = lambda pieces, seconds: None,
    ) -> None:
        self._max_jobs, self._max_pieces = max_jobs, max_pieces
        self._observe = observe
        self._changed = threading.Condition()
        self._turns: deque[Job] = deque()
        # Taken out of their turns, but not yet into a batch.
        self._next: list[_Piece] = []
        self._is_closed = False
        self._seconds_per_piece = 0.01
        self.num_jobs = 0
        self.num_pieces = 0
        self._workers = [
            threading.Thread(target=self._work, name=f"translate-{number}", daemon=True)
            for number in range(num_workers)
        ]
        for worker in self._workers:
            worker.start()

    def submit(self, job: Job) -> None:
        """Puts a job into the queue. On the event loop.

        Raises:
            ServiceError: 429, with the time after which there may be room.
        """
        self.expect_room(len(job.rows))
        self.num_jobs += 1
        self.num_pieces += len(job.rows)
        job.future.add_done_callback(lambda _: self._forget(job))
        with self._changed:
            self._turns.append(job)
            self._changed.notify(min(len(job.rows), len(self._workers)))

    def expect_room(self, num_pieces: int = 0) -> None:
        """Raises what `submit` would for a job of so many pieces."""
        is_full = self.num_jobs >= self._max_jobs
        if is_full or (self.num_pieces and self.num_pieces + num_pieces > self._max_pieces):
            seconds = self.num_pieces * self._seconds_per_piece / len(self._workers)
            raise ServiceError(
                429,
                f"Slowdown: {self.num_jobs} requests wait already; try again later",
                "busy",
                max(1, math.ceil(seconds)),
            )

    def close(self) -> None:
        """Ends the threads once each has finished its batch."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()

    def _forget(self, job: Job) -> None:
        self.num_jobs -= 1
        self.num_pieces -= len(job.rows)

    def _work(self) -> None:
        _yield_to_event_loop()
        while batch := self._take():
            start = time.monotonic()
            answers = _run(batch)
            seconds = time.monotonic() - start
            self._observe(len(batch), seconds)
            change = seconds / len(batch) - self._seconds_per_piece
            self._seconds_per_piece += _SMOOTHING * change
            _hand_back(batch, answers)

    def _take(self) -> list[_Piece]:
        with self._changed:
            while not self._is_closed:
                self._next = [piece for piece in self._next if not piece.job.future.done()]
                if self._next or self._turns:
                    self._fill()
                if self._next:
                    return self._choose()
                self._changed.wait()
            return []

    def _fill(self) -> None:
        # A piece of each job in its turn, as many as a few batches hold.
        wanted = 0
        while self._turns and (not wanted or len(self._next) < wanted):
            job = self._turns.popleft()
            piece = job.take()
            if piece is not None:
                self._next.append(piece)
                self._turns.append(job)
            if self._next and not wanted:
                first = self._next[0].job
                rows = first.engine.max_slots(first.options) // MIN_LENGTH
                wanted = _LOOKAHEAD * max(1, rows)

    def _choose(self) -> list[_Piece]:
        # The first in turn, with those of its kind whose lengths are next to its own.
        first = self._next[0]
        kind = (first.job.engine, first.job.options)
        like = [piece for piece in self._next if (piece.job.engine, piece.job.options) == kind]
        like.sort(key=lambda piece: piece.length)
        max_slots = first.job.engine.max_slots(first.job.options)
        begin = next(place for place, piece in enumerate(like) if piece is first)
        end = begin + 1
        longest = first.length
        while True:
            room = max_slots // longest > end - begin
            if end < len(like) and max_slots // like[end].length > end - begin:
                longer = like[end].length - first.length
                if begin == 0 or longer <= first.length - like[begin - 1].length:
                    longest = like[end].length
                    end += 1
                    continue
            if begin == 0 or not room:
                break
            begin -= 1
        batch = like[begin:end]
        chosen = {id(piece) for piece in batch}
        self._next = [piece for piece in self._next if id(piece) not in chosen]
        return batch


def _yield_to_event_loop() -> None:
    # Translating takes every core; what asks and answers takes little, and is waited for by all.
    with suppress(AttributeError, OSError):  # threads have a priority of their own on Linux alone
        niceness = os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def _run(batch: Sequence[_Piece]) -> Sequence[Translations | BaseException]:
    job = batch[0].job
    try:
        return job.engine.run([piece.ids for piece in batch], job.options)
    except Exception as error:
        if len(batch) == 1:
            return [error]
        return [_run([piece])[0] for piece in batch]  # the others are not to fail with one


def _hand_back(batch: Sequence[_Piece], answers: Sequence[Translations | BaseException]) -> None:
    # To the jobs' event loop, which wakes up once for all of them.
    def receive_all() -> None:
        for piece, answer in zip(batch, answers, strict=True):
            piece.job.receive(piece.row, answer)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        batch[0].job.loop.call_soon_threadsafe(receive_all)
