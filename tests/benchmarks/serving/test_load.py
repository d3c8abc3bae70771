"""What the load counts, against a server of which each answer is known."""

import asyncio
import json
import socket
from collections import Counter

import pytest

from benchmarks.serving.load import NO_CONNECTION, UNANSWERED, Job, percentile, run

OK = (200, {"translatedText": "un"})


@pytest.fixture
def ask():
    """Runs a job against servers that answer the bodies they get by a function."""

    async def serve(answer, reader, writer):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
            found = answer(json.loads(await reader.readexactly(length)))
            if found is None:
                break
            status, told = found
            body = json.dumps(told).encode()
            writer.write(b"HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
            await asyncio.sleep(0)
            writer.write(body)
        writer.close()

    async def start(answer):
        async def handle(reader, writer):
            try:
                await serve(answer, reader, writer)
            except asyncio.IncompleteReadError:
                writer.close()

        return await asyncio.start_server(handle, "127.0.0.1", 0)

    def ask_all(*answers, **job):
        async def both():
            servers = [await start(answer) for answer in answers]
            ports = [server.sockets[0].getsockname()[1] for server in servers]
            defaults = {"bodies": ["{}"], "seconds": 0.2, "rate": None, "num_clients": 3}
            urls = [f"http://127.0.0.1:{port}" for port in ports]
            found = await run(Job(urls=urls, retries=0) | defaults | job)
            for server in servers:
                server.close()
            return found

        return asyncio.run(both())

    return ask_all


def test_each_answer_is_counted_by_its_status(ask):
    sent = Counter()

    def answer(body):
        sent[body["q"]] += 1
        return {
            "good": OK,
            "empty": (200, {"translatedText": ""}),
            "busy": (429, {"error": "Slowdown"}),
            "bare": (500, {}),
            "gone": None,
        }[body["q"]]

    names = ["good", "empty", "busy", "bare", "gone"]
    found = ask(answer, bodies=[json.dumps({"q": name}) for name in names])
    assert found["statuses"] == {
        200: sent["good"] + sent["empty"],
        429: sent["busy"],
        500: sent["bare"],
        UNANSWERED: sent["gone"],
    }
    assert found["wrong"] == sent["empty"] + sent["bare"]
    assert len(found["latencies"]) == found["statuses"][200]


def test_another_replica_is_asked_where_one_gives_no_answer(ask):
    found = ask(lambda body: None, lambda body: OK, retries=1)
    assert set(found["statuses"]) == {200}


def test_where_nothing_listens_is_told_apart(ask):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and doesn't listen
        found = ask(urls=[f"http://127.0.0.1:{taken.getsockname()[1]}"], rate=50)
    assert found["statuses"] == {NO_CONNECTION: 10}


def test_an_open_loop_keeps_its_times_and_counts_from_them(ask):
    found = ask(lambda body: OK, rate=50, seconds=0.5)
    assert sum(found["statuses"].values()) == 25
    assert 0 < found["longest"] <= max(found["latencies"])


def test_percentiles():
    assert [percentile(range(100), share) for share in (0.0, 0.5, 0.99)] == [0, 50, 99]
