"""What the interfaces of others take and give: Open Inference, LibreTranslate, DeepL."""

import json

import pytest
import requests

from tests.serving.http.asking import FR_EN, post


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
