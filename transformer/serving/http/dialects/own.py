"""Our own routes: all that the library can say of a translation, and of its models."""

from typing import Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from transformer.config import Section
from transformer.serving.documents import PLAIN
from transformer.serving.http.catalog import AUTO, Model
from transformer.serving.http.errors import ServiceError
from transformer.serving.http.operations import JsonResponse, Operation
from transformer.serving.http.requests import parse, read_json
from transformer.serving.http.service import Answer, Service

TAG = "transformer-mt"
RELOAD = "/admin/reload"


class TranslateBody(Section):
    """A request of `/v1/translate`."""

    text: str | list[str]
    source: str = AUTO
    target: str
    format: str = PLAIN
    # Whether candidates come with their `alignment`; of plain text alone.
    alignment: bool = False
    # As `Translator.translate` takes them; null: the model's own.
    num_best: int = Field(default=1, ge=1)
    beam_size: int | None = Field(default=None, ge=1)
    length_penalty: float | None = Field(default=None, ge=0)
    patience: float | None = Field(default=None, ge=1)


class Link(Section):
    """Words that belong together: [begin, end) in Unicode characters of the texts."""

    source: tuple[int, int]
    target: tuple[int, int]


class Candidate(Section):
    """One translation. `is_complete` is false where it met the length limit."""

    text: str
    # The log-probability by length: at most 0, comparable within a text.
    score: float
    is_complete: bool
    # By their place in the source, where the request asks for it; a word may have several, or none.
    alignment: list[Link] = Field(default=[])


class ModelName(Section):
    """Which translator answered."""

    name: str
    source: str
    target: str
    # Of the weights, and of the translator's card, which seals all its files.
    model_hash: str
    version: str
    precision: str
    provider: str


class TextTranslation(Section):
    """The translations of one text, best first."""

    candidates: list[Candidate]
    # None: the request named the language. Else the share of words that the model knows.
    detection_confidence: float | None
    # Words that the training text never had; they are carried over or guessed.
    unknown_words: list[str]
    model: ModelName


class TranslateReply(Section):
    """An entry for each text."""

    translations: list[TextTranslation]


class Health(Section):
    """That the service is there."""

    status: Literal["ok"]


class Models(Section):
    """What is served."""

    models: list[ModelName]


async def translate(service: Service, request: Request) -> Response:
    """`POST /v1/translate`."""
    caller = service.keys.identify(request.headers.get("authorization"))
    body = parse(TranslateBody, "body", await read_json(request))
    texts = [body.text] if isinstance(body.text, str) else body.text
    answers = await service.translate_texts(
        texts,
        body.source,
        body.target,
        caller,
        body.format,
        alignment=body.alignment,
        num_best=body.num_best,
        beam_size=body.beam_size,
        length_penalty=body.length_penalty,
        patience=body.patience,
    )
    return JsonResponse({"translations": [_tell(answer) for answer in answers]})


async def list_models(service: Service, request: Request) -> Response:
    """`GET /v1/models`."""
    return JsonResponse({"models": [_name(model) for model in service.catalog.models]})


async def show_card(service: Service, request: Request) -> Response:
    """`GET /v1/models/{name}`: the card, with scores, data, licence and hashes."""
    model = service.catalog.by_name.get(request.path_params["name"])
    if model is None:
        names = ", ".join(service.catalog.by_name)
        raise ServiceError(404, f"no such model; there is {names}", "invalid")
    card = model.translator.card.model_dump(mode="json")
    return JsonResponse(_name(model) | {"card": card})


async def health(service: Service, request: Request) -> Response:
    """`GET /health`: the process answers."""
    return JsonResponse({"status": "ok"})


async def metrics(service: Service, request: Request) -> Response:
    """`GET /metrics`, as Prometheus reads them."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


async def reload(service: Service, request: Request) -> Response:
    """`POST /admin/reload`: from this machine alone, and not by a browser or through a proxy."""
    host = request.client.host if request.client else ""
    foreign = {"origin", "forwarded", "x-forwarded-for", "x-real-ip", "via"} & set(request.headers)
    if host not in ("127.0.0.1", "::1") or foreign:
        raise ServiceError(403, "only from the machine itself, and directly", "forbidden")
    try:
        catalog = await service.reload()
    except ValueError as error:
        raise ServiceError(409, f"not reloaded, {error}", "reload") from None
    return JsonResponse({"models": [_name(model) for model in catalog.models]})


def _name(model: Model) -> dict[str, Any]:
    translator = model.translator
    return {
        "name": model.name,
        "source": model.source,
        "target": model.target,
        "model_hash": translator.card.model_hash,
        "version": model.version,
        "precision": translator.precision,
        "provider": translator.provider,
    }


def _tell(answer: Answer) -> dict[str, Any]:
    candidates: list[dict[str, Any]] = [
        {"text": one.text, "score": one.score, "is_complete": one.is_complete}
        for one in answer.translations
    ]
    for candidate, links in zip(candidates, answer.alignments or (), strict=False):
        candidate["alignment"] = [{"source": one, "target": other} for one, other in links]
    return {
        "candidates": candidates,
        "detection_confidence": answer.confidence,
        "unknown_words": answer.model.translator.unknown_words(answer.spoken),
        "model": _name(answer.model),
    }


OPERATIONS = (
    Operation(
        *("POST", "/v1/translate", "Translate, with scores and alternatives.", translate, TAG),
        body=TranslateBody,
        reply=TranslateReply,
    ),
    Operation("GET", "/v1/models", "The models.", list_models, TAG, reply=Models, statuses=()),
    Operation(
        *("GET", "/v1/models/{name}", "A model's card.", show_card, TAG),
        reply={"type": "object"},
        statuses=(404,),
    ),
    Operation("GET", "/health", "Is the process there?", health, TAG, reply=Health, statuses=()),
    Operation("GET", "/ready", "Can it translate?", health, TAG, reply=Health, statuses=()),
    Operation(
        *("GET", "/metrics", "What was counted, for Prometheus.", metrics, TAG),
        gives="text/plain",
        statuses=(),
    ),
    Operation(
        *("POST", RELOAD, "Take on new versions; from this machine.", reload, TAG),
        reply=Models,
        statuses=(403, 409),
    ),
)
