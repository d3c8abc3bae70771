"""Clients of other services, as they are installed."""

import deepl
import pytest
from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI

from transformer.serving.http.keys import make_key


@pytest.fixture
def served_key(serve, tmp_path):
    key, line = make_key("anna")
    (tmp_path / "keys").write_text(f"{line}\n")
    return serve(keys=tmp_path / "keys"), key


def test_libretranslatepy(served_key):
    served, key = served_key
    client = LibreTranslateAPI(served.url, key)
    assert client.translate("un chat", "fr", "en") == "UN CHAT"
    assert client.detect("un chat") == [{"confidence": 100.0, "language": "fr"}]
    assert [language["code"] for language in client.languages()] == ["fr", "en"]


def test_deep_translator(served_key):
    served, key = served_key
    client = LibreTranslator("fr", "en", api_key=key, custom_url=f"{served.url}/")
    assert client.translate_batch(["un chat", "deux"]) == ["UN CHAT", "DEUX"]


def test_deepl(served_key):
    served, key = served_key
    client = deepl.DeepLClient(key, server_url=served.url)
    (first, second) = client.translate_text(["un chat", "deux"], target_lang="EN-US")
    assert (first.text, first.detected_source_lang, second.text) == ("UN CHAT", "FR", "DEUX")
    assert client.translate_text("un", source_lang="FR", target_lang="EN-GB").text == "UN"
    assert [one.code for one in client.get_source_languages()] == ["FR"]
    assert [one.name for one in client.get_target_languages()] == ["English"]
    assert client.get_usage().character.count == len("un chatdeuxun")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("no", server_url=served.url).translate_text("un", target_lang="EN-US")
    with pytest.raises(deepl.DeepLException, match="XX is not supported"):
        client.translate_text("un", target_lang="XX")


@pytest.mark.parametrize("is_binary", [True, False])
def test_tritonclient(served_key, is_binary):
    triton = pytest.importorskip("tritonclient.http", reason="pip install -e '.[triton]'")
    numpy = pytest.importorskip("numpy")
    served, key = served_key
    client = triton.InferenceServerClient(served.url.removeprefix("http://"))
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("fr-en")
    assert client.get_server_metadata()["name"] == "transformer-mt"
    (given,) = client.get_model_metadata("fr-en")["inputs"]
    tensor = triton.InferInput("text", [2, 1], given["datatype"])
    texts = numpy.array([["un chat"], ["deux"]], dtype=object)
    tensor.set_data_from_numpy(texts, binary_data=is_binary)
    names = ("translation", "score", "is_complete")
    outputs = [triton.InferRequestedOutput(name, binary_data=is_binary) for name in names]
    headers = {"Authorization": f"Bearer {key}"}
    for wanted in (outputs, None):
        result = client.infer(
            "fr-en",
            [tensor],
            outputs=wanted,
            request_id="7",
            headers=headers,
            parameters={"length_penalty": 0.5},
        )
        translations = result.as_numpy("translation")
        assert translations.shape == (2, 1)
        found = [t.decode() if isinstance(t, bytes) else t for t in translations.ravel()]
        assert found == ["UN CHAT", "DEUX"]
        assert result.as_numpy("score").ravel().tolist() == pytest.approx([-0.09, -0.09])
        assert result.as_numpy("is_complete").all()
        assert result.get_response()["id"] == "7"
    with pytest.raises(triton.InferenceServerException, match="unknown model"):
        client.get_model_metadata("xx-en")
    client.close()
