"""The service over HTTP, by what clients send and see."""

import json
import logging
import re
import shutil
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import requests

from transformer.serving.http.app import _KEY, LOG, OPERATIONS
from transformer.serving.http.keys import make_key
from transformer.serving.http.limits import Limits
from transformer.serving.translator import Translator

FR_EN = {"source": "fr", "target": "en"}


def post(served, path, body=None, **options):
    """The answer, whose status the service's description has, but for a bug of its own."""
    reply = requests.post(served.url + path, json=body, timeout=20, **options)
    for one in OPERATIONS:
        is_asked = re.fullmatch(re.sub(r"{\w+}", "[^/]+", one.path), path.partition("?")[0])
        if is_asked and one.method == "POST":
            assert reply.status_code in (200, *one.statuses, 500)
    return reply


def texts_of(reply):
    return [[one["text"] for one in t["candidates"]] for t in reply.json()["translations"]]


@pytest.fixture
def slow_run(monkeypatch):
    """Closes a gate before each run of a graph."""
    gate, entered = threading.Event(), threading.Event()
    run = Translator.run

    def waiting_run(self, rows, options):
        entered.set()
        gate.wait(20)
        return run(self, rows, options)

    def install():
        monkeypatch.setattr(Translator, "run", waiting_run)
        return gate, entered

    yield install
    gate.set()


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_many_clients_get_what_the_library_gives(serve, make_translator):
    folder = make_translator()
    library = Translator(folder, "cpu", num_threads=1)
    words = ["un", "deux", "chat", "dort", "!"]
    texts = [" ".join((words[n % 5 :] + words)[: n % 7 + 1]) for n in range(40)]
    texts += ["Un chat dort. Deux chien! Trois chat dort? Quatre chien dort.", ""]
    expected = [
        [{"text": one.text, "score": one.score, "is_complete": one.is_complete} for one in answer]
        for text in texts
        for answer in library.translate([text])
    ]
    served = serve(folder, num_workers=2)

    def ask(text):
        reply = post(served, "/v1/translate", {"text": text} | FR_EN)
        (translation,) = reply.json()["translations"]
        return translation["candidates"]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, texts * 2)) == expected * 2
    together = post(served, "/v1/translate", {"text": texts} | FR_EN).json()["translations"]
    assert [one["candidates"] for one in together] == expected
    num_characters = served.metric("characters_total", model="fr-en")
    assert num_characters == 3 * sum(map(len, texts))


def test_all_that_the_library_says_is_told(serve):
    served = serve()
    body = {"text": ["un chien", "un\n\n  chat"], "source": "auto", "target": "en"}
    reply = post(served, "/v1/translate", body | {"num_best": 2, "length_penalty": 0.5}).json()
    first, second = reply["translations"]
    assert [one["text"] for one in first["candidates"]] == ["UN CHIEN"] * 2
    assert first["candidates"][1]["score"] == pytest.approx(-1.09)
    assert first["unknown_words"] == ["chien"]
    assert first["detection_confidence"] == 0.5
    assert first["model"]["model_hash"] == "0123abcd" * 8
    assert [one["text"] for one in second["candidates"]] == ["UN\n\n  CHAT"]


def test_links_are_those_of_the_library_wherever_a_sentence_stands(serve, make_translator):
    folder = make_translator()
    served, library = serve(folder), Translator(folder, "cpu", num_threads=1)
    sentences = [["Un chat dort.", "Deux chien !", "trois chat"], ["un {name} dort 😀", "chat"]]
    texts = ["{} {}\r\n\n  {}\n".format(*sentences[0]), "\n{}\n{}".format(*sentences[1])]
    body = {"text": texts, "alignment": True} | FR_EN
    translations = post(served, "/v1/translate", body).json()["translations"]
    for text, of_text, answer in zip(texts, sentences, translations, strict=True):
        (candidate,) = answer["candidates"]
        expected, end = [], 0
        for sentence in of_text:
            at = text.index(sentence)
            translated = sentence.upper().replace("{NAME}", "{name}")
            if translated not in candidate["text"]:
                translated = translated.replace(".", " .")
            end = target_at = candidate["text"].index(translated, end)
            found = library.align(sentence, translated)
            for i, j in found.links:
                source = [at + place for place in found.source[i]]
                target = [target_at + place for place in found.target[j]]
                expected.append({"source": source, "target": target})
        assert candidate["alignment"] == expected
        assert len(expected) >= 5
    several = post(served, "/v1/translate", body | {"text": "un chat", "num_best": 2}).json()
    assert [len(of["alignment"]) for of in several["translations"][0]["candidates"]] == [2, 2]
    html = post(served, "/v1/translate", body | {"format": "html"})
    assert (html.status_code, "alignment is there for" in html.json()["error"]) == (400, True)


def test_very_long_sentences_have_no_links(serve, monkeypatch):
    monkeypatch.setattr("transformer.serving.http.service._MAX_WORD_PAIRS", 8)
    body = {"text": ["un chat", "un chat dort"], "alignment": True} | FR_EN
    answers = post(serve(), "/v1/translate", body).json()["translations"]
    assert [len(one["candidates"][0]["alignment"]) for one in answers] == [2, 0]


def test_models_and_cards_can_be_read(serve):
    served = serve()
    (model,) = requests.get(f"{served.url}/v1/models", timeout=9).json()["models"]
    shown = requests.get(f"{served.url}/v1/models/{model['name']}", timeout=9).json()
    assert shown.items() >= model.items()
    assert shown["card"]["corpus"]["license"] == "CC0-1.0"
    missing = requests.get(f"{served.url}/v1/models/xx-en", timeout=9)
    assert (missing.status_code, missing.json()) == (
        404,
        {"error": "no such model; there is fr-en"},
    )


def test_open_inference_takes_and_gives_binary_tensors(serve):
    """By hand, as the protocol's text has it; test_clients.py asks Triton's own client."""
    served = serve()
    url = f"{served.url}/v2/models/fr-en"
    ready = requests.get(f"{url}/ready", timeout=9).json()
    assert ready == {"name": "fr-en", "ready": True}
    texts = b"".join(len(one).to_bytes(4, "little") + one for one in (b"un chat", b"deux"))
    size = {"binary_data_size": len(texts)}
    tensor = {"name": "text", "datatype": "BYTES", "shape": [2], "parameters": size}
    wanted = [
        {"name": "translation", "parameters": {"binary_data": True}},
        {"name": "is_complete", "parameters": {"binary_data": 2}},
    ]
    head = json.dumps({"inputs": [tensor], "outputs": wanted}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    reply = requests.post(f"{url}/infer", head + texts, headers=headers, timeout=9)
    length = int(reply.headers["Inference-Header-Content-Length"])
    translation, is_complete = json.loads(reply.content[:length])["outputs"]
    assert translation["parameters"] == size
    assert is_complete["data"] == [True, True]
    assert reply.content[length:] == texts.upper()
    cut = requests.post(f"{url}/infer", head + texts[:-1], headers=headers, timeout=9)
    assert (cut.status_code, cut.json()["error"]) == (
        400,
        f"inputs.text: binary_data_size must be {len(texts) - 1}, as was sent",
    )


@pytest.mark.parametrize(
    "how",
    [
        {"json": {"q": "un chat"} | FR_EN},
        {"data": {"q": "un chat"} | FR_EN},
        {"params": {"q": "un chat"} | FR_EN},
        {"data": FR_EN, "files": {"q": (None, "un chat")}},
    ],
    ids=["json", "form", "query", "multipart"],
)
def test_libretranslate_takes_all_styles_of_body(serve, how):
    reply = requests.post(f"{serve().url}/translate", timeout=9, **how)
    assert (reply.status_code, reply.json()) == (200, {"translatedText": "UN CHAT"})


def test_libretranslate_mirrors_what_it_was_given(serve):
    served = serve()
    body = {"q": ["un", "deux"], "source": "auto", "target": "en", "alternatives": 1}
    detected = {"confidence": 100.0, "language": "fr"}
    assert post(served, "/translate", body).json() == {
        "translatedText": ["UN", "DEUX"],
        "detectedLanguage": [detected, detected],
        "alternatives": [["UN"], ["DEUX"]],
    }
    assert post(served, "/detect", {"q": "un"}).json() == [detected]
    assert requests.get(f"{served.url}/languages", timeout=9).json() == [
        {"code": "fr", "name": "French", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": []},
    ]
    settings = requests.get(f"{served.url}/frontend/settings", timeout=9).json()
    assert (settings["charLimit"], settings["keyRequired"]) == (100_000, False)
    assert settings["filesTranslation"]


def test_a_file_is_translated_and_fetched_by_a_name_of_ours(serve):
    served = serve()
    file = {"file": ("../../un.txt", b"un\n\n chat\n")}
    reply = requests.post(f"{served.url}/translate_file", data=FR_EN, files=file, timeout=9)
    url = reply.json()["translatedFileUrl"]
    assert url.startswith(f"{served.url}/download_file/")
    assert "un" not in url.rsplit("/", 1)[1].removesuffix(".txt") or len(url) > 60
    fetched = requests.get(url, timeout=9)
    assert fetched.content == b"UN\n\n CHAT\n"
    assert "attachment" in fetched.headers["content-disposition"]
    assert requests.get(f"{url[:-8]}none.txt", timeout=9).status_code == 404
    file = {"file": ("un.exe", b"MZ")}
    reply = requests.post(f"{served.url}/translate_file", data=FR_EN, files=file, timeout=9)
    assert (reply.status_code, "unknown kind of file" in reply.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/translate", FR_EN, "Invalid request: missing q parameter"),
        ("/translate", {"q": "un", "target": "en"}, "missing source parameter"),
        ("/translate", {"q": "un", "source": "zz", "target": "en"}, "zz is not supported"),
        ("/translate", {"q": ["un", 1]} | FR_EN, "q must be a string or a list"),
        ("/translate", {"q": "un", "alternatives": -1} | FR_EN, "alternatives must be"),
        ("/translate", {"q": "un", "format": "rtf"} | FR_EN, "'rtf' is not supported; there is"),
        ("/translate", {"q": "un", "format": 1} | FR_EN, "format must be a string"),
        ("/translate", {"q": "\ud800"} | FR_EN, "not valid Unicode"),
        ("/translate", {"q": "\ud800", "source": "auto", "target": "en"}, "not valid Unicode"),
        ("/detect", {"q": "\ud800"}, "text 1: not valid Unicode"),
        ("/translate", {"q": "un", "source": "\ud800", "target": "en"}, "is not supported"),
        ("/translate", ["un"], "must be a JSON object"),
        ("/translate", {"q": "un", "alternatives": 99} | FR_EN, "allows at most 16"),
        ("/translate", {"q": ["un"] * 2000} | FR_EN, "2000 texts exceed the limit of 1000"),
        ("/translate", {"q": "u" * 100_001} | FR_EN, "100001 characters exceed the limit"),
        ("/v1/translate", {"text": "un"}, "body.target: missing"),
        ("/v1/translate", {"text": "un", "targt": "en"}, "body.targt = 'en': unknown key"),
        ("/v1/translate", {"text": "un", "target": "en", "beam_size": 12}, "half of the 14"),
        ("/v1/translate", {"text": ["un", "un " * 20]} | FR_EN, "text 2: it has 21 tokens"),
        ("/v1/translate", {"text": ["un\nun", "un " * 20]} | FR_EN, "text 2: it has 21 tokens"),
        ("/v2/models/fr-en/infer", {"inputs": []}, "one tensor named 'text'"),
    ],
)
def test_what_is_wrong_is_told(serve, path, body, said):
    reply = post(serve(), path, body)
    assert reply.status_code == 400
    assert said in reply.json()["error"]


def test_deepl_has_errors_of_its_own_shape(serve):
    served = serve()
    reply = post(served, "/v2/translate", {"text": ["un"], "target_lang": "XX"})
    assert reply.status_code == 400
    assert "XX is not supported" in reply.json()["message"]


@pytest.mark.parametrize("form", ["html", "xml"])
def test_tags_are_no_words(serve, form):
    text = '<div class="hero"><span>un chat &#105;ci</span></div>'
    body = {"text": text, "format": form, "target": "en"}
    (answer,) = post(serve(), "/v1/translate", body).json()["translations"]
    assert (answer["unknown_words"], answer["detection_confidence"]) == (
        ["ici"],
        pytest.approx(2 / 3),
    )


@pytest.mark.parametrize(
    ("told", "billed"), [(True, 4), (1, 4), ("true", 4), ("1", 4), (False, None), (0, None)]
)
def test_deepl_bills_where_it_is_asked_to(serve, told, billed):
    body = {"text": ["chat"], "target_lang": "EN", "show_billed_characters": told}
    (answer,) = post(serve(), "/v2/translate", body).json()["translations"]
    assert answer.get("billed_characters") == billed


def test_as_many_as_were_asked_for_come_if_the_beam_is_narrower(serve):
    body = {"text": "un chat", "num_best": 3} | FR_EN
    (answer,) = post(serve(), "/v1/translate", body).json()["translations"]
    assert len(answer["candidates"]) == 3


def test_a_long_error_is_cut_in_its_middle(serve):
    error = post(serve(), "/translate", {"q": "un", "source": "x" * 999, "target": "en"}).json()
    assert len(error["error"]) == 500
    assert error["error"][399:401] == "x…"


@pytest.mark.parametrize(
    "content", [b"{", b"[" * 100_000, b'{"q": 1' + b"0" * 5000 + b"}", b"\xff"]
)
def test_what_is_not_json_is_told(serve, content):
    headers = {"content-type": "application/json"}
    reply = requests.post(f"{serve().url}/translate", content, headers=headers, timeout=9)
    assert reply.status_code == 400
    assert "is not JSON" in reply.json()["error"]


def test_other_bodies_and_routes_are_refused(serve):
    served = serve()
    headers = {"content-type": "text/csv"}
    assert requests.post(f"{served.url}/translate", b"q", headers=headers).status_code == 415
    assert requests.get(f"{served.url}/translate", timeout=9).status_code == 405
    reply = requests.get(f"{served.url}/../etc/passwd", timeout=9)
    assert (reply.status_code, reply.json()) == (404, {"error": "Not Found"})
    assert served.metric("requests_total", route="other", method="GET", status="404") == 1


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


def test_sentences_are_remembered(serve):
    served = serve(limits=Limits(cache_entries=2))
    for text in ("un", "un", "deux", "un", "chat", "deux"):
        post(served, "/translate", {"q": text} | FR_EN)
    assert served.metric("cache_hits_total") == 2
    assert served.metric("cache_misses_total") == 4
    assert served.metric("cache_entries") == 2
    post(served, "/v1/translate", {"text": "deux", "length_penalty": 0.1} | FR_EN)
    assert served.metric("cache_misses_total") == 5


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
