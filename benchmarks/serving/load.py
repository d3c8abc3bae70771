"""Load from a process of its own: a JSON job on standard input, a JSON of what came back.

Open loop: requests leave at their times whatever the service does, and latency counts from the
time at which one should have left. Closed loop: so many clients, each with one request at a time.
Of the well-kept tools that Debian and PyPI offer, wrk, hey, ab and locust have closed loops only,
and aiohttp's client takes four times as much of the cores, which the service needs. So
uvicorn's parser and event loop, httptools and uvloop, ask here.
"""

import asyncio
import collections
import itertools
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, TypedDict
from urllib.parse import urlsplit

import httptools
import uvloop

from transformer.serving.http.server import raise_file_limit

# In place of a status.
NO_CONNECTION = 0
UNANSWERED = -1
_PATIENCE_SECONDS = 60
# Before a client that found nobody asks again.
_PAUSE_SECONDS = 0.01
_NUM_FILES = 10_000


class Job(TypedDict):
    """`urls` are replicas, taken in turn; `rate` is per second, and None for closed loops."""

    urls: list[str]
    # JSON, for `POST /translate`.
    bodies: list[str]
    seconds: float
    rate: float | None
    num_clients: int
    # At another replica, after a connection that failed.
    retries: int


class _UnansweredError(ConnectionError):
    """The request was sent, and the connection ended without an answer."""


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.is_open = True
        self.answer: asyncio.Future[tuple[int, bytes]] | None = None

    def ask(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        """Status and body of the answer.

        Raises:
            _UnansweredError: there is none.
        """
        self.answer = asyncio.get_running_loop().create_future()
        self._parser, self._body = httptools.HttpResponseParser(self), b""
        self.transport.write(request)
        return self.answer

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """The parser's."""
        self._body += body

    def on_message_complete(self) -> None:
        """The parser's."""
        if not self._parser.should_keep_alive():
            self.close()
        if self.answer and not self.answer.done():
            self.answer.set_result((self._parser.get_status_code(), self._body))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self.answer and not self.answer.done():
            self.answer.set_exception(_UnansweredError())

    def close(self) -> None:
        """Asks nothing more."""
        self.is_open = False
        self.transport.close()


class _Replica:
    """A service with connections that are kept open."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = str(address.hostname), int(address.port or 80)
        self._idle: list[_Connection] = []

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer.

        Raises:
            _UnansweredError: there is none.
            OSError: nothing listens, or it takes too long.
        """
        connection = None
        while self._idle and connection is None:
            last = self._idle.pop()
            connection = last if last.is_open else None
        if connection is None:
            _, connection = await asyncio.get_running_loop().create_connection(
                _Connection, self._host, self._port
            )
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                answer = await connection.ask(request)
        except TimeoutError:
            connection.close()
            raise
        if connection.is_open:
            self._idle.append(connection)
        return answer


def _request(body: str) -> bytes:
    content = body.encode()
    head = "POST /translate HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


async def run(job: Job) -> dict[str, Any]:
    """Makes the load.

    Returns:
        `statuses` with counts, those two above among them, `latencies` in seconds of those with
        200, the `longest` of them since it was really sent, `seconds`, `cpu_seconds` that this
        took, and `wrong`: how many bodies were neither a translation nor an error.
    """
    statuses: collections.Counter[int] = collections.Counter()
    latencies: list[float] = []
    longest = [0.0]
    wrong = 0
    requests = itertools.cycle([_request(body) for body in job["bodies"]])
    replicas = [_Replica(url) for url in job["urls"]]
    turns = itertools.count()

    async def ask(since: float) -> None:
        nonlocal wrong
        request = next(requests)
        status, turn, sent = NO_CONNECTION, next(turns), time.monotonic()
        for attempt in range(1 + job["retries"]):
            try:
                status, body = await replicas[(turn + attempt) % len(replicas)].ask(request)
            except _UnansweredError:
                status = UNANSWERED
                continue
            except OSError:
                status = NO_CONNECTION
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if status == 200:
                latencies.append(time.monotonic() - since)
                longest[0] = max(longest[0], time.monotonic() - sent)
            wrong += not _is_answer(status, body)
            break
        statuses[status] += 1

    print("begun", flush=True)
    begin, cpu = time.monotonic(), time.process_time()
    end = begin + job["seconds"]

    async def client() -> None:
        while (now := time.monotonic()) < end:
            await ask(now)

    if job["rate"] is None:
        await asyncio.gather(*(client() for _ in range(job["num_clients"])))
    else:
        tasks: set[asyncio.Task[None]] = set()
        for number in itertools.count():
            due = begin + number / job["rate"]
            if due >= end:
                break
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(ask(due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
    return {
        "statuses": dict(statuses),
        "latencies": latencies,
        "longest": longest[0],
        "seconds": time.monotonic() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "wrong": wrong,
    }


def _is_answer(status: int, body: bytes) -> bool:
    try:
        told = json.loads(body)
    except ValueError:
        return False
    return bool(isinstance(told, dict) and told.get("translatedText" if status == 200 else "error"))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of them doesn't exceed; NaN of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


if __name__ == "__main__":
    raise_file_limit(_NUM_FILES)
    json.dump(uvloop.run(run(json.load(sys.stdin))), sys.stdout)
