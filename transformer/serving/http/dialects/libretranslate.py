"""LibreTranslate's protocol: JSON, a form or the query string."""

from pathlib import PurePosixPath
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from transformer.serving.documents import PLAIN, SUFFIXES
from transformer.serving.http.catalog import AUTO
from transformer.serving.http.errors import ServiceError, invalid
from transformer.serving.http.keys import Caller
from transformer.serving.http.languages import name_language
from transformer.serving.http.operations import JsonResponse, Operation
from transformer.serving.http.requests import read_values
from transformer.serving.http.service import Answer, Service

TAG = "LibreTranslate"


async def translate(service: Service, request: Request) -> Response:
    """`POST /translate`."""
    values = await read_values(request)
    caller = _identify(service, request, values)
    texts = _required_texts(values)
    source, target = _required(values, "source"), _required(values, "target")
    num_alternatives = _count(values, "alternatives")
    answers = await service.translate_texts(
        texts if isinstance(texts, list) else [texts],
        source,
        target,
        caller,
        _string(values, "format") or PLAIN,
        num_best=1 + num_alternatives,
    )
    is_list = isinstance(texts, list)
    reply: dict[str, Any] = {
        "translatedText": _mirror([answer.translations[0].text for answer in answers], is_list)
    }
    if source.casefold() == AUTO:
        reply["detectedLanguage"] = _mirror([_detected(answer) for answer in answers], is_list)
    if num_alternatives:
        others = [[one.text for one in answer.translations[1:]] for answer in answers]
        reply["alternatives"] = _mirror(others, is_list)
    return JsonResponse(reply)


async def detect(service: Service, request: Request) -> Response:
    """`POST /detect`."""
    values = await read_values(request)
    _identify(service, request, values)
    texts = _required_texts(values)
    text = texts if isinstance(texts, str) else " ".join(texts)
    found = service.detect(text)
    return JsonResponse(
        [{"confidence": _percent(share), "language": language} for language, share in found]
    )


async def languages(service: Service, request: Request) -> Response:
    """`GET /languages`: those that can be translated from, and then those that can't."""
    catalog = service.catalog
    codes = [*catalog.sources(), *sorted(set(catalog.targets()) - set(catalog.sources()))]
    return JsonResponse(
        [
            {
                "code": code,
                "name": name_language(code),
                "targets": [m.target for m in catalog.models if m.source == code],
            }
            for code in codes
        ]
    )


async def settings(service: Service, request: Request) -> Response:
    """`GET /frontend/settings`."""
    first = service.catalog.models[0]
    return JsonResponse(
        {
            "apiKeys": service.keys.are_needed,
            "charLimit": service.limits.max_characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": service.keys.are_needed,
            "language": {
                "source": {"code": first.source, "name": name_language(first.source)},
                "target": {"code": first.target, "name": name_language(first.target)},
            },
            "suggestions": False,
            "supportedFilesFormat": list(SUFFIXES),
        }
    )


async def translate_file(service: Service, request: Request) -> Response:
    """`POST /translate_file`: nothing of the client's file name but its ending is used."""
    values = await read_values(request)
    caller = _identify(service, request, values)
    file = values.get("file")
    if not isinstance(file, UploadFile):
        raise invalid("Invalid request: missing file parameter")
    ending = PurePosixPath(file.filename or "").suffix.casefold()
    source, target = _required(values, "source"), _required(values, "target")
    content = await service.translate_file(await file.read(), ending, source, target, caller)
    url = request.url_for("download_file", name=service.files.put(content, ending))
    return JsonResponse({"translatedFileUrl": str(url)})


async def download_file(service: Service, request: Request) -> Response:
    """`GET /download_file/{name}`: a translated file, by the name that was made for it."""
    name = request.path_params["name"]
    content = service.files.get(name)
    if content is None:
        raise ServiceError(404, "no such file; it may have been too long ago", "invalid")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _identify(service: Service, request: Request, values: dict[str, Any]) -> Caller:
    key = values.get("api_key")
    return service.keys.identify(
        request.headers.get("authorization"), key if isinstance(key, str) else None, 400
    )


def _string(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"Invalid request: {name} must be a string")
    return value


def _required(values: dict[str, Any], name: str) -> str:
    value = _string(values, name)
    if not value:
        raise invalid(f"Invalid request: missing {name} parameter")
    return value


def _required_texts(values: dict[str, Any]) -> str | list[str]:
    texts = values.get("q")
    if texts is None:
        raise invalid("Invalid request: missing q parameter")
    if isinstance(texts, str):
        return texts
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    raise invalid("Invalid request: q must be a string or a list of strings")


def _count(values: dict[str, Any], name: str) -> int:
    value = values.get(name, 0)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or value < 0:
        raise invalid(f"Invalid request: {name} must be a whole number, 0 or more")
    return value


def _mirror(values: list[Any], is_list: bool) -> Any:
    return values if is_list else values[0]


def _percent(share: float) -> float:
    return round(100 * share, 1)


def _detected(answer: Answer) -> dict[str, Any]:
    return {"confidence": _percent(answer.confidence or 0.0), "language": answer.model.source}


_TEXTS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_STRING = {"type": "string"}
_NUMBER = {"type": "number"}
_DETECTED = {
    "type": "object",
    "properties": {"confidence": _NUMBER, "language": _STRING},
    "required": ["confidence", "language"],
}
_LANGUAGE = {
    "type": "object",
    "properties": {
        "code": _STRING,
        "name": _STRING,
        "targets": {"type": "array", "items": _STRING},
    },
    "required": ["code", "name", "targets"],
}
_FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")

OPERATIONS = (
    Operation(
        *("POST", "/translate", "Translate a text or a list of texts.", translate, TAG),
        accepts=_FORMS,
        body={
            "type": "object",
            "properties": {
                "q": _TEXTS,
                "source": {"type": "string", "description": "a code, or auto"},
                "target": _STRING,
                "format": {"type": "string", "default": PLAIN},
                "alternatives": {"type": "integer", "minimum": 0, "default": 0},
                "api_key": _STRING,
            },
            "required": ["q", "source", "target"],
        },
        reply={
            "type": "object",
            "properties": {
                "translatedText": _TEXTS,
                "detectedLanguage": {"oneOf": [_DETECTED, {"type": "array", "items": _DETECTED}]},
                "alternatives": {"type": "array"},
            },
            "required": ["translatedText"],
        },
    ),
    Operation(
        *("POST", "/detect", "Guess a text's language, by its words.", detect, TAG),
        accepts=_FORMS,
        body={
            "type": "object",
            "properties": {"q": _TEXTS, "api_key": _STRING},
            "required": ["q"],
        },
        reply={"type": "array", "items": _DETECTED},
    ),
    Operation(
        *("GET", "/languages", "The languages.", languages, TAG),
        reply={"type": "array", "items": _LANGUAGE},
        statuses=(),
    ),
    Operation(
        *("GET", "/frontend/settings", "Limits and defaults.", settings, TAG),
        reply={"type": "object"},
        statuses=(),
    ),
    Operation(
        *("POST", "/translate_file", "Translate a file.", translate_file, TAG),
        accepts=("multipart/form-data",),
        body={
            "type": "object",
            "properties": {
                "file": {"type": "string", "format": "binary"},
                "source": _STRING,
                "target": _STRING,
                "api_key": _STRING,
            },
            "required": ["file", "source", "target"],
        },
        reply={
            "type": "object",
            "properties": {"translatedFileUrl": _STRING},
            "required": ["translatedFileUrl"],
        },
    ),
    Operation(
        *("GET", "/download_file/{name}", "Fetch a translated file.", download_file, TAG),
        gives="application/octet-stream",
        statuses=(404,),
    ),
)
