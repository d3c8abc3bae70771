"""The worker's end of the line."""

import io
import json

import pytest

from benchmarks.harness import protocol
from benchmarks.harness.protocol import Channel, peak_bytes, serve


def talk(monkeypatch, load, *requests):
    out = io.StringIO()
    asked = io.StringIO("".join(json.dumps(one) + "\n" for one in requests))
    monkeypatch.setattr(Channel, "open", lambda: Channel(out, asked))
    serve(load)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_worker_greets_then_answers_and_outlives_a_failure(monkeypatch):
    def respond(request):
        return {"half": request["number"] / 2}

    greeting, *answers = talk(
        monkeypatch, lambda: ({"version": "9"}, respond), {"number": 4}, {}, {"number": 2}
    )
    assert greeting["version"] == "9"
    assert greeting["load_seconds"] >= 0
    assert [one.get("half") for one in answers] == [2, None, 1]
    assert answers[1] == {"error": "KeyError: 'number'"}
    assert answers[0]["cpu_seconds"] >= 0
    assert answers[0]["peak_bytes"] == pytest.approx(peak_bytes(), rel=0.5)


def test_what_can_not_be_loaded_says_why(monkeypatch):
    def load():
        raise OSError("no such file")

    assert talk(monkeypatch, load, {"number": 1}) == [{"error": "OSError: no such file"}]


def test_libraries_that_print_do_not_break_answers(capfd, monkeypatch):
    monkeypatch.setattr(protocol.sys, "stdin", io.StringIO())
    saved = protocol.os.dup(1)
    try:
        channel = Channel.open()
        protocol.os.write(1, b"a library's word\n")
        channel.greet({"version": "9"})
    finally:
        protocol.os.dup2(saved, 1)
    out, err = capfd.readouterr()
    assert json.loads(out)["version"] == "9"
    assert err == "a library's word\n"


def test_memory_is_that_of_a_python_process():
    assert 2**22 < peak_bytes() < 2**36
