"""What is too large, too slow or too much for the service, and what it says to it."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import requests

from tests.serving.http.asking import FR_EN, post, wait_for
from transformer.serving.http.limits import Limits


def test_the_body_of_an_answer_does_not_wait_for_its_head(serve):
    served = serve()
    with socket.create_connection(served.address):
        wait_for(lambda: served.server.server_state.connections)
        (connection,) = served.server.server_state.connections
        here = connection.transport.get_extra_info("socket")
        assert here.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_large_body_is_refused_before_it_is_read(serve):
    served = serve(limits=Limits(max_body_bytes=1000))
    reply = requests.post(f"{served.url}/translate", b"x" * 1001, timeout=9)
    assert reply.status_code == 413
    with socket.create_connection(served.address) as client:  # without a length: in chunks
        head = b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.sendall(head + b"400\r\n" + b"x" * 1024 + b"\r\n")
        client.settimeout(9)
        assert client.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /translate HTTP/1.1\r\nHo",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nq=",
    ],
    ids=["nothing", "head", "body"],
)
def test_a_slow_client_is_given_up(serve, begun):
    served = serve(limits=Limits(receive_seconds=0.2))
    with socket.create_connection(served.address) as client:
        client.sendall(begun)
        client.settimeout(5)
        received = b""
        while chunk := client.recv(1000):
            received += chunk
        assert received.startswith(b"HTTP/1.1 408") == begun.endswith(b"q=")


def test_a_head_without_end_is_cut_off(serve):
    served = serve(limits=Limits(receive_seconds=60))
    with socket.create_connection(served.address) as client, suppress(ConnectionError):
        client.settimeout(9)
        client.sendall(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100_000)
        assert client.recv(1) == b""


def test_a_full_queue_is_told_and_empties(serve, slow_run):
    served = serve(limits=Limits(max_waiting_requests=2))
    gate, _ = slow_run()
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(post, served, "/translate", {"q": text} | FR_EN) for text in ("un", "deux")
        ]
        wait_for(lambda: served.metric("waiting_requests") == 2)
        reply = post(served, "/translate", {"q": "chat"} | FR_EN)
        assert reply.status_code == 429
        assert reply.json()["error"].startswith("Slowdown: ")
        assert int(reply.headers["retry-after"]) >= 1
        assert requests.get(f"{served.url}/languages", timeout=9).status_code == 200
        gate.set()
        assert [one.result().status_code for one in waiting] == [200, 200]
    assert post(served, "/translate", {"q": "chat"} | FR_EN).status_code == 200
    assert served.metric("refused_total", reason="busy") == 1


def test_what_is_refused_at_the_door_reads_as_if_the_application_had(serve, slow_run):
    served = serve(limits=Limits(max_waiting_requests=1))
    gate, entered = slow_run()

    def ask(client, *parts, method="POST", more=""):
        for part in parts:
            client.sendall(part)
            time.sleep(0.05)
        received = client.recv(4096)
        return b"\r\n".join(line for line in received.split(b"\r\n") if line[:5] != b"date:")

    def request(path="/translate", more=""):
        body = json.dumps({"q": "chat"} | FR_EN)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{more}Content-Type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()

    def logged():
        return served.metric("request_seconds_count", route="other")

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, served, "/translate", {"q": "un"} | FR_EN)
        assert entered.wait(9)
        for path in ("/translate", "/v2/translate?x=y"):
            with socket.create_connection(served.address) as client:
                client.settimeout(9)
                whole = request(path)
                before = logged()
                refused = ask(client, whole)
                assert logged() == before  # the application has not seen it
                assert refused == ask(client, whole[:-5], whole[-5:])
                assert refused == ask(client, request(path, "Connection: keep-alive\r\n"))
                assert logged() == before + 1
                assert b"429 Too Many Requests" in refused
                assert b"Connection: close" not in refused
                closing = ask(client, request(path, "Connection: close\r\n"))
                assert b"connection: close" in closing.lower()
        assert served.metric("refused_total", reason="busy") == 8
        assert served.metric("requests_total", route="other", method="POST", status="429") == 8
        # What asks for no translation is answered all the same.
        assert requests.get(f"{served.url}/health", timeout=9).status_code == 200
        assert requests.post(f"{served.url}/admin/reload", timeout=30).status_code == 200
        gate.set()
        assert first.result().status_code == 200


def test_a_crowd_is_told_before_it_is_read(serve, slow_run):
    served = serve(limits=Limits(max_requests=1))
    gate, entered = slow_run()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, served, "/translate", {"q": "un"} | FR_EN)
        assert entered.wait(9)
        reply = post(served, "/v2/translate", {"text": ["un"], "target_lang": "EN"})
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
        assert "2 requests are open" in reply.json()["message"]
        gate.set()
        assert first.result().status_code == 200


def test_what_takes_too_long_is_given_up(serve, slow_run):
    served = serve(limits=Limits(deadline_seconds=0.2))
    slow_run()
    reply = post(served, "/translate", {"q": "un"} | FR_EN)
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert "not done within 0.2 seconds" in reply.json()["error"]
    assert served.metric("waiting_requests") == 0


def test_a_client_that_has_gone_is_not_worked_for(serve, slow_run):
    served = serve()
    gate, entered = slow_run()
    body = json.dumps({"q": "un"} | FR_EN).encode()
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(post, served, "/translate", {"q": "deux"} | FR_EN)
        assert entered.wait(9)
        with socket.create_connection(served.address) as client:
            client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            wait_for(lambda: served.metric("waiting_requests") == 2)
        wait_for(lambda: served.metric("waiting_requests") == 1)
        gate.set()
        assert other.result().status_code == 200
    assert served.metric("refused_total", reason="client gone") == 1
    assert served.metric("batch_pieces_sum") == 1
