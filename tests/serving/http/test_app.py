"""The service over HTTP, by what clients send and see."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.serving.http.asking import FR_EN, post
from transformer.serving.http.limits import Limits
from transformer.serving.translator import Translator


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


def test_sentences_are_remembered(serve):
    served = serve(limits=Limits(cache_entries=2))
    for text in ("un", "un", "deux", "un", "chat", "deux"):
        post(served, "/translate", {"q": text} | FR_EN)
    assert served.metric("cache_hits_total") == 2
    assert served.metric("cache_misses_total") == 4
    assert served.metric("cache_entries") == 2
    post(served, "/v1/translate", {"text": "deux", "length_penalty": 0.1} | FR_EN)
    assert served.metric("cache_misses_total") == 5
