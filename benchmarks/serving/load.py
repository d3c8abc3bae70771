"""Load from a process of its own: a JSON job on standard input, a JSON of what came back.

Open loop: requests leave at their times whatever the service does, and latency counts from the
time at which one should have left. Closed loop: so many clients, each with one request at a time.
Of the well-kept tools that Debian and PyPI offer, wrk, hey, ab and locust have closed loops only;
so aiohttp's client is given the times here.
"""

import asyncio
import collections
import itertools
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, TypedDict

import aiohttp


class Job(TypedDict):
    """`urls` are replicas, taken in turn; `rate` is per second, and None for closed loops."""

    urls: list[str]
    texts: list[str]
    seconds: float
    rate: float | None
    num_clients: int
    # At another replica, after a connection that failed.
    retries: int


async def run(job: Job) -> dict[str, Any]:
    """Makes the load.

    Returns:
        `statuses` with counts (0: no answer), `latencies` in seconds of those with 200, the
        `longest` of them since it was really sent, `seconds`, and `wrong`: how many bodies were
        neither a translation nor an error.
    """
    statuses: collections.Counter[int] = collections.Counter()
    latencies: list[float] = []
    longest = [0.0]
    wrong = 0
    texts = itertools.cycle(job["texts"])
    turns = itertools.count()

    async def ask(session: aiohttp.ClientSession, since: float) -> None:
        nonlocal wrong
        body = {"q": next(texts), "source": "auto", "target": "en"}
        status, turn, sent = 0, next(turns), time.monotonic()
        for attempt in range(1 + job["retries"]):
            url = job["urls"][(turn + attempt) % len(job["urls"])]
            try:
                async with session.post(f"{url}/translate", json=body) as reply:
                    status = reply.status
                    told = await reply.json()
            except (aiohttp.ClientError, TimeoutError, ValueError):
                continue
            if status == 200:
                latencies.append(time.monotonic() - since)
                longest[0] = max(longest[0], time.monotonic() - sent)
                wrong += not told["translatedText"]
            else:
                wrong += not told["error"]
            break
        statuses[status] += 1

    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        print("begun", flush=True)
        begin = time.monotonic()
        end = begin + job["seconds"]

        async def client() -> None:
            while (now := time.monotonic()) < end:
                await ask(session, now)

        if job["rate"] is None:
            await asyncio.gather(*(client() for _ in range(job["num_clients"])))
        else:
            tasks: set[asyncio.Task[None]] = set()
            for number in itertools.count():
                due = begin + number / job["rate"]
                if due >= end:
                    break
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                task = asyncio.create_task(ask(session, due))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.gather(*tasks)
        seconds = time.monotonic() - begin
    return {
        "statuses": dict(statuses),
        "latencies": latencies,
        "longest": longest[0],
        "seconds": seconds,
        "wrong": wrong,
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of them doesn't exceed; NaN of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


if __name__ == "__main__":
    json.dump(asyncio.run(run(json.load(sys.stdin))), sys.stdout)
