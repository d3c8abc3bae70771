"""DeepL's protocol: texts, languages, usage."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from transformer.serving.documents import PLAIN
from transformer.serving.http.catalog import AUTO
from transformer.serving.http.errors import invalid
from transformer.serving.http.keys import Caller
from transformer.serving.http.languages import name_language
from transformer.serving.http.operations import JsonResponse, Operation
from transformer.serving.http.requests import read_values
from transformer.serving.http.service import Service

TAG = "DeepL"
# Of a month, in DeepL's protocol: there is none here.
_NO_LIMIT = 1_000_000_000_000
_TRUE = (True, 1, "1", "true")


async def translate(service: Service, request: Request) -> Response:
    """`POST /v2/translate`."""
    caller = _identify(service, request)
    values = await read_values(request)
    texts = values.get("text")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise invalid("Parameter 'text' must be a string or a list of strings, not empty")
    if values.get("glossary_id"):
        raise invalid("Parameter 'glossary_id': glossaries are not supported")
    if values.get("formality") in ("more", "less"):
        raise invalid("Parameter 'formality' is not supported by these translators")
    answers = await service.translate_texts(
        texts,
        _language(values, "source_lang") or AUTO,
        _language(values, "target_lang", is_required=True),
        caller,
        _language(values, "tag_handling") or PLAIN,
    )
    is_billed = values.get("show_billed_characters") in _TRUE
    return JsonResponse(
        {
            "translations": [
                {
                    "detected_source_language": _code(answer.model.source),
                    "text": answer.translations[0].text,
                }
                | ({"billed_characters": len(text)} if is_billed else {})
                for text, answer in zip(texts, answers, strict=True)
            ]
        }
    )


async def languages(service: Service, request: Request) -> Response:
    """`GET /v2/languages`, by `type` source or target."""
    _identify(service, request)
    kind = (await read_values(request)).get("type", "source")
    if kind not in ("source", "target"):
        raise invalid("Parameter 'type' must be source or target")
    codes = service.catalog.sources() if kind == "source" else service.catalog.targets()
    found = [{"language": _code(code), "name": name_language(code)} for code in codes]
    return JsonResponse(
        found if kind == "source" else [one | {"supports_formality": False} for one in found]
    )


async def usage(service: Service, request: Request) -> Response:
    """`GET /v2/usage`: characters since the service began or the key was read."""
    caller = _identify(service, request)
    return JsonResponse({"character_count": caller.num_characters, "character_limit": _NO_LIMIT})


def _identify(service: Service, request: Request) -> Caller:
    return service.keys.identify(request.headers.get("authorization"), missing_status=403)


def _language(values: dict[str, Any], name: str, is_required: bool = False) -> str:
    value = values.get(name)
    if (value is None or value == "") and not is_required:
        return ""
    if not isinstance(value, str) or not value:
        raise invalid(f"Parameter '{name}' must be a string, not empty")
    return value


def _code(language: str) -> str:
    return language.replace("_", "-").upper()


_STRING = {"type": "string"}
_TRANSLATION = {
    "type": "object",
    "properties": {
        "detected_source_language": _STRING,
        "text": _STRING,
        "billed_characters": {"type": "integer"},
    },
    "required": ["detected_source_language", "text"],
}
_LANGUAGE = {
    "type": "object",
    "properties": {"language": _STRING, "name": _STRING, "supports_formality": {"type": "boolean"}},
    "required": ["language", "name"],
}

OPERATIONS = (
    Operation(
        *("POST", "/v2/translate", "Translate texts.", translate, TAG),
        accepts=("application/json", "application/x-www-form-urlencoded"),
        body={
            "type": "object",
            "properties": {
                "text": {"type": "array", "items": _STRING, "minItems": 1},
                "source_lang": _STRING,
                "target_lang": _STRING,
                "tag_handling": _STRING,
                "show_billed_characters": {"type": "boolean"},
            },
            "required": ["text", "target_lang"],
        },
        reply={
            "type": "object",
            "properties": {"translations": {"type": "array", "items": _TRANSLATION}},
            "required": ["translations"],
        },
        error="message",
    ),
    Operation(
        *("GET", "/v2/languages", "The languages.", languages, TAG),
        reply={"type": "array", "items": _LANGUAGE},
        error="message",
        statuses=(400, 403, 415),
    ),
    Operation(
        *("GET", "/v2/usage", "Characters translated.", usage, TAG),
        reply={
            "type": "object",
            "properties": {
                "character_count": {"type": "integer"},
                "character_limit": {"type": "integer"},
            },
            "required": ["character_count", "character_limit"],
        },
        error="message",
        statuses=(403,),
    ),
)
