"""Requests that nobody would mean: made from the OpenAPI description, and by hand."""

import json
import re
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.harness.environment import Environment, UnavailableError, ensure_environment

SCHEMATHESIS = Environment("schemathesis", ("schemathesis==4.32.5",))
SEED = 1
# By which an operation of the description takes something.
_INPUT = {"parameters", "requestBody"}
# Beyond the service's own limits: what takes longer hangs.
_PATIENCE_SECONDS = 40
_LARGE = b"x" * (3 << 20)
_DEEP = b"[" * 200_000


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _request(path: str, body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n{more}\r\n".encode() + body


def malice() -> list[bytes]:
    """What a bad client would send, as it goes over the wire."""
    pair = {"source": "auto", "target": "en"}
    texts = [
        "\ud800",
        "\u0000" * 1000,
        "a" * 99_999,
        "." * 99_999,
        '"' * 50_000,
        "\u202e\u200f\ufeff" * 1000,
        "e" + "\u0301" * 50_000,
        "\n" * 99_999,
        "un. " * 20_000,
        " " * 99_999,
        "😀" * 20_000,
        "<" * 50_000,
        "%s%n{0}${x}" * 1000,
    ]
    infer: dict[str, Any] = {"name": "text", "shape": [1], "datatype": "BYTES"}
    tensors: list[dict[str, Any]] = [
        {"shape": [-1], "data": []},
        {"shape": [10**30, 0], "data": []},
        {"data": [[[]]]},
        {"data": [1]},
        {"parameters": {"binary_data_size": 10**12}},
    ]
    infinite = b'{"text": "un", "target": "en", "length_penalty": NaN, "patience": Infinity}'
    boundary = "multipart/form-data; boundary=x"
    form = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nun\r\n'
    name = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\nun\r\n--x--'
    return [
        *(_request("/translate", _json({"q": text} | pair)) for text in texts),
        *(_request("/v1/translate", _json({"text": [text] * 3} | pair)) for text in texts),
        *(_request("/v2/translate", _json({"text": [t], "target_lang": "EN"})) for t in texts),
        *(_request("/detect", _json({"q": text})) for text in texts),
        _request("/translate", _DEEP),
        _request("/translate", b'{"q":' + b'{"a":' * 100_000),
        _request("/translate", b'{"q": "un", "alternatives": 1' + b"0" * 100_000 + b"}"),
        _request("/translate", _LARGE),
        _request("/translate", "{}".encode("utf-16")),
        _request("/translate", b"q=" + b"%ff" * 1000, "application/x-www-form-urlencoded"),
        _request("/translate", b"q=un&" * 50_000, "application/x-www-form-urlencoded"),
        _request("/translate", form * 3000, boundary),
        _request("/translate", form, "multipart/form-data"),
        _request("/translate_file", name % b"../../../etc/passwd\0.txt", boundary),
        _request("/translate_file", name % (b"a" * 60_000 + b".txt"), boundary),
        _request("/translate_file", _LARGE, boundary),
        _request("/v1/translate", infinite),
        _request("/v1/translate", _json({"text": "un", "target": "en", "num_best": 10**30})),
        _request("/v1/translate", _json({"text": ["un"] * 100_000, "target": "en"})),
        *(
            _request("/v2/models/fr-en/infer", _json({"inputs": [infer | changed]}))
            for changed in tensors
        ),
        _request("/v2/models/fr-en/infer", b"{}", more="Inference-Header-Content-Length: 9\r\n"),
        _request("/v2/models/..%2f..%2fetc/infer", b"{}"),
        b"GET /v1/models/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /download_file/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /admin/reload HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 50_000 + b"\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 10_000,
        b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00\x01PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
        b"",
    ]


def send(host: str, port: int, content: bytes) -> int | None:
    """The status of the answer; 0: the connection was closed without one; None: it hangs."""
    with socket.create_connection((host, port), timeout=_PATIENCE_SECONDS) as client:
        try:
            client.sendall(content)
        except TimeoutError:
            return None
        except OSError:
            pass  # it closes where it has heard enough
        received = b""
        try:
            while b"\r\n" not in received and (chunk := client.recv(4096)):
                received += chunk
        except TimeoutError:
            return None
        except OSError:
            return 0
    found = re.match(rb"HTTP/1\.1 (\d{3})", received)
    return int(found[1]) if found else 0


def fuzz(url: str, num_requests: int, folder: Path) -> dict[str, Any]:
    """Sends them.

    Returns:
        `requests` that the service counted, `broken` (500s), `hangs`, `statuses`, and what
        schemathesis said at its end.
    """
    host, port = url.removeprefix("http://").split(":")
    begin = time.monotonic()
    answers = [send(host, int(port), content) for content in malice()]
    said = _from_description(url, num_requests, folder)
    with urllib.request.urlopen(f"{url}/metrics", timeout=_PATIENCE_SECONDS) as reply:
        counted = re.findall(
            r'^translator_requests_total{.*status="(\d+)".*} (\S+)$', reply.read().decode(), re.M
        )
    statuses: dict[str, int] = {}
    for status, count in counted:
        statuses[status] = statuses.get(status, 0) + int(float(count))
    return {
        "requests": sum(statuses.values()),
        "by hand": len(answers),
        "broken": statuses.get("500", 0) + answers.count(500),
        "hangs": answers.count(None) + len(re.findall(r"(?i)read timed? ?out", said)),
        "statuses": statuses,
        "seconds": round(time.monotonic() - begin, 1),
        "schemathesis": (re.findall(r"\d+ generated.*", said) or [said[-2000:]])[-1],
    }


def _from_description(url: str, num_requests: int, folder: Path) -> str:
    try:
        python = ensure_environment(SCHEMATHESIS)
    except UnavailableError as error:
        return f"not run: {error}"
    with urllib.request.urlopen(f"{url}/openapi.json") as reply:
        paths = json.load(reply)["paths"].values()
    # The others are soon exhausted.
    given = [one for methods in paths for one in methods.values() if _INPUT & one.keys()]
    each = -(-num_requests // len(given))
    command = [str(python.with_name("schemathesis")), "run", f"{url}/openapi.json"]
    command += ["--checks", "not_a_server_error", "--seed", str(SEED), "--no-color"]
    command += ["--max-examples", str(each), "--phases", "examples,coverage,fuzzing"]
    command += ["--request-timeout", str(_PATIENCE_SECONDS), "--continue-on-failure"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
