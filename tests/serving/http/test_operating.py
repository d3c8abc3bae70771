"""What an operator of the service relies on: keys, reloads, logs."""

import logging
import re
import shutil
import threading

import pytest
import requests

from tests.serving.http.asking import FR_EN, post, wait_for
from transformer.serving.http.app import _KEY, LOG
from transformer.serving.http.keys import make_key
from transformer.serving.translator import Translator


def test_keys_open_the_door(serve, tmp_path):
    key, line = make_key("anna")
    (tmp_path / "keys").write_text(f"{line} 10\n")
    served = serve(keys=tmp_path / "keys")
    q = {"q": "un"} | FR_EN
    assert post(served, "/translate", q).status_code == 400
    assert post(served, "/translate", q | {"api_key": "x"}).json() == {"error": "Invalid API key"}
    assert post(served, "/translate", q | {"api_key": key}).status_code == 200
    bearer = {"headers": {"authorization": f"Bearer {key}"}}
    body = {"text": "un"} | FR_EN
    assert post(served, "/v1/translate", body).status_code == 401
    assert post(served, "/v1/translate", body, **bearer).status_code == 200
    reply = post(served, "/v1/translate", {"text": "un chat !"} | FR_EN, **bearer)
    assert (reply.status_code, int(reply.headers["retry-after"]) > 1) == (429, True)
    assert requests.get(f"{served.url}/health", timeout=9).json() == {"status": "ok"}
    metrics = requests.get(f"{served.url}/metrics", timeout=9).text
    assert key not in metrics
    assert "127.0.0.1" not in metrics
    edges = re.findall(r'request_seconds_bucket\{le="([\d.]+)",route="/translate"\}', metrics)
    assert len(edges) > 5
    assert [*map(float, edges)] == sorted({*map(float, edges)})
    told = requests.get(f"{served.url}/openapi.json", timeout=9).json()["paths"]
    for method, path, name in (
        ("post", "/v1/translate", ""),
        ("post", "/v2/models/{name}/infer", "fr-en"),
        ("get", "/v2/usage", ""),
    ):
        reply = requests.request(method, served.url + path.format(name=name), json={}, timeout=9)
        assert reply.status_code in (401, 403)
        assert str(reply.status_code) in told[path][method]["responses"]


def test_a_new_version_takes_over_and_nothing_is_lost(serve, make_translator):
    folder = make_translator()
    served = serve(folder, num_workers=2)
    before = requests.get(f"{served.url}/v1/models", timeout=9).json()["models"][0]["version"]
    stop, statuses = threading.Event(), []

    def ask():
        with requests.Session() as session:
            while not stop.is_set():
                body = {"q": "un chat"} | FR_EN
                reply = session.post(f"{served.url}/translate", json=body, timeout=9)
                statuses.append(reply.status_code)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    versions = {before}
    for count in (8, 7, 6):
        fresh = make_translator(f"fresh-{count}", num_test_sentences=count)
        shutil.rmtree(folder)
        fresh.rename(folder)
        reply = post(served, "/admin/reload")
        versions.add(reply.json()["models"][0]["version"])
    stop.set()
    for thread in threads:
        thread.join()
    assert len(versions) == 4
    assert set(statuses) == {200}
    assert served.metric("reloads_total", outcome="done") == 3


def test_a_damaged_version_changes_nothing(serve, make_translator):
    folder = make_translator()
    served = serve(folder)
    (folder / "meta.json").write_text("{}")
    (folder / "translator.json").touch()
    card = folder / "translator.json"
    card.write_text(card.read_text().replace("toy", "joy"))
    reply = post(served, "/admin/reload")
    assert reply.status_code == 409
    assert "all stays as it was" in reply.json()["error"]
    assert post(served, "/translate", {"q": "un"} | FR_EN).status_code == 200


@pytest.mark.parametrize("header", ["Origin", "X-Forwarded-For", "Forwarded"])
def test_a_reload_is_not_for_others(serve, header):
    reply = post(serve(), "/admin/reload", headers={header: "127.0.0.1"})
    assert reply.status_code == 403


def test_pages_of_others_may_ask_where_they_are_named(serve, make_translator):
    folder = make_translator()
    origin = {"Origin": "https://example.org"}
    ask = {"headers": origin, "json": {"q": "un"} | FR_EN, "timeout": 9}
    closed = requests.post(f"{serve(folder).url}/translate", **ask)
    assert "access-control-allow-origin" not in closed.headers
    served = serve(folder, allowed_origins=["https://example.org"])
    opened = requests.post(f"{served.url}/translate", **ask)
    assert opened.headers["access-control-allow-origin"] == "https://example.org"
    assert opened.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_bug_is_told_without_its_traceback(serve, monkeypatch):
    def broken(self, rows, options):
        raise RuntimeError("secret")

    served = serve()
    monkeypatch.setattr(Translator, "run", broken)
    reply = post(served, "/translate", {"q": "un"} | FR_EN)
    assert (reply.status_code, "secret" in reply.text) == (500, False)
    assert reply.json()["error"].startswith("something broke")


@pytest.mark.parametrize("log_texts", [False, True])
def test_texts_are_logged_only_if_asked_for(serve, log_texts):
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    LOG.addHandler(handler)
    level = LOG.level
    LOG.setLevel(logging.INFO)
    try:
        served = serve(log_texts=log_texts)
        post(served, "/translate", {"q": "chat"} | FR_EN)
        wait_for(lambda: any(record.getMessage() == "request" for record in records))
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
    fields = next(r.fields for r in records if r.getMessage() == "request")
    assert (fields["route"], fields["status"]) == ("/translate", 200)
    assert ("chat" in str(fields)) == log_texts


@pytest.mark.parametrize(
    "body",
    [
        '{"q": "chat", "api_key": "geheim", "x": 1}',
        '{"api_key":"geheim","q":"chat"}',
        "q=chat&api_key=geheim&x=1",
        'form-data; name="api_key"\r\n\r\ngeheim\r\n--b\r\nname="q"\r\n\r\nchat',
    ],
)
def test_a_key_is_not_logged_with_its_text(body):
    logged = _KEY.sub(r"\1***", body)
    assert ("geheim" in logged, "chat" in logged, "***" in logged) == (False, True, True)
