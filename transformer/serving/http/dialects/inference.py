"""The Open Inference Protocol, version 2, with Triton's binary tensors: for KServe and Triton.

A model is named by its languages, such as fr-en. It takes the tensor `text`, BYTES of any shape,
and gives `translation` (BYTES), `score` (FP32) and `is_complete` (BOOL) of that shape.
"""

import json
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from transformer.serving.documents import PLAIN
from transformer.serving.http.catalog import Model
from transformer.serving.http.errors import ServiceError, invalid
from transformer.serving.http.operations import JsonResponse, Operation
from transformer.serving.http.requests import parse, parse_json
from transformer.serving.http.service import Service

TAG = "Open Inference Protocol"
INPUT = {"name": "text", "datatype": "BYTES", "shape": [-1]}
OUTPUTS = {"translation": "BYTES", "score": "FP32", "is_complete": "BOOL"}
# Where the JSON of a body ends, and the tensors begin.
_JSON_LENGTH = "Inference-Header-Content-Length"


class _Open(BaseModel):
    # Of what it doesn't know a server takes no notice, as the protocol has it.
    model_config = ConfigDict(extra="ignore", strict=True)


class Input(_Open):
    """A tensor that is handed in."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class Output(_Open):
    """A tensor that is wanted."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class Search(_Open):
    """What a request may choose of the search: its `parameters`."""

    format: str = PLAIN
    beam_size: int | None = Field(default=None, ge=1)
    length_penalty: float | None = Field(default=None, ge=0)
    patience: float | None = Field(default=None, ge=1)
    binary_data_output: bool = False


class InferBody(_Open):
    """A request of `infer`."""

    id: str | None = None
    inputs: list[Input]
    outputs: list[Output] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


async def infer(service: Service, request: Request) -> Response:
    """`POST /v2/models/{name}/infer`."""
    caller = service.keys.identify(request.headers.get("authorization"))
    model = _find(service, request)
    content = await request.body()
    length = _json_length(request, content)
    body = parse(InferBody, "body", parse_json(content[:length]))
    search = parse(Search, "body.parameters", body.parameters)
    texts, shape = _read_texts(body.inputs, content[length:])
    answers = await service.translate_texts(
        texts,
        model.source,
        model.target,
        caller,
        search.format,
        beam_size=search.beam_size,
        length_penalty=search.length_penalty,
        patience=search.patience,
    )
    best = [answer.translations[0] for answer in answers]
    values: dict[str, list[Any]] = {
        "translation": [one.text for one in best],
        "score": [one.score for one in best],
        "is_complete": [one.is_complete for one in best],
    }
    reply: dict[str, Any] = {"model_name": model.name, "model_version": model.version}
    if body.id is not None:
        reply["id"] = body.id
    wanted = body.outputs or [Output(name=name) for name in OUTPUTS]
    tensors = b""
    reply["outputs"] = []
    for output in wanted:
        if output.name not in OUTPUTS:
            raise invalid(f"outputs: {output.name!r} is unknown; there is {', '.join(OUTPUTS)}")
        datatype = OUTPUTS[output.name]
        told: dict[str, Any] = {"name": output.name, "datatype": datatype, "shape": shape}
        if output.parameters.get("binary_data", search.binary_data_output) is True:
            packed = _PACK[datatype](values[output.name])
            told["parameters"] = {"binary_data_size": len(packed)}
            tensors += packed
        else:
            told["data"] = values[output.name]
        reply["outputs"].append(told)
    if not tensors:
        return JsonResponse(reply)
    head = json.dumps(reply).encode()
    return Response(
        head + tensors,
        media_type="application/octet-stream",
        headers={_JSON_LENGTH: str(len(head))},
    )


async def describe_server(service: Service, request: Request) -> Response:
    """`GET /v2`."""
    return JsonResponse(
        {
            "name": "transformer-mt",
            "version": metadata.version("transformer-mt"),
            "extensions": ["binary_tensor_data"],
        }
    )


async def describe_model(service: Service, request: Request) -> Response:
    """`GET /v2/models/{name}`."""
    model = _find(service, request)
    return JsonResponse(
        {
            "name": model.name,
            "versions": [model.version],
            "platform": "onnxruntime",
            "inputs": [INPUT],
            "outputs": [
                {"name": name, "datatype": datatype, "shape": [-1]}
                for name, datatype in OUTPUTS.items()
            ],
        }
    )


async def is_live(service: Service, request: Request) -> Response:
    """`GET /v2/health/live`."""
    return JsonResponse({"live": True})


async def is_ready(service: Service, request: Request) -> Response:
    """`GET /v2/health/ready`."""
    return JsonResponse({"ready": True})


async def is_model_ready(service: Service, request: Request) -> Response:
    """`GET /v2/models/{name}/ready`."""
    return JsonResponse({"name": _find(service, request).name, "ready": True})


def _find(service: Service, request: Request) -> Model:
    name = request.path_params["name"]
    model = service.catalog.by_name.get(name)
    if model is None:
        names = ", ".join(service.catalog.by_name)
        raise ServiceError(404, f"Request for unknown model: {name!r}; there is {names}", "invalid")
    return model


def _json_length(request: Request, content: bytes) -> int:
    given = request.headers.get(_JSON_LENGTH)
    if given is None:
        return len(content)
    if not (given.isascii() and given.isdigit() and len(given) < 12 and int(given) <= len(content)):
        raise invalid(f"{_JSON_LENGTH} must be a number of bytes within the body")
    return int(given)


def _read_texts(inputs: Sequence[Input], tensors: bytes) -> tuple[list[str], list[int]]:
    if len(inputs) != 1 or inputs[0].name != INPUT["name"] or inputs[0].datatype != "BYTES":
        raise invalid("inputs: must be one tensor named 'text', of datatype BYTES")
    (given,) = inputs
    size = given.parameters.get("binary_data_size")
    if size is not None:
        if type(size) is not int or size != len(tensors):
            raise invalid(f"inputs.text: binary_data_size must be {len(tensors)}, as was sent")
        texts = list(_unpack(tensors))
    else:
        texts = list(_flatten(given.data or []))
    if any(length < 0 for length in given.shape) or math.prod(given.shape) != len(texts):
        raise invalid(f"inputs.text: {len(texts)} values don't make the shape {given.shape}")
    return texts, given.shape


def _flatten(data: Sequence[Any]) -> Iterable[str]:
    for value in data:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _flatten(value)
        else:
            raise invalid("inputs.text.data: must be strings")


def _unpack(tensors: bytes) -> Iterable[str]:
    begin = 0
    while begin < len(tensors):
        end = begin + 4
        if end <= len(tensors):
            (size,) = struct.unpack_from("<I", tensors, begin)
            begin, end = end, end + size
        if end > len(tensors):
            raise invalid("inputs.text: the binary data ends within a value")
        try:
            yield tensors[begin:end].decode()
        except UnicodeDecodeError:
            raise invalid("inputs.text: a value is not UTF-8") from None
        begin = end


def _pack_texts(texts: Sequence[str]) -> bytes:
    encoded = [text.encode() for text in texts]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


_PACK: dict[str, Callable[[Sequence[Any]], bytes]] = {
    "BYTES": _pack_texts,
    "FP32": lambda values: struct.pack(f"<{len(values)}f", *values),
    "BOOL": lambda values: struct.pack(f"<{len(values)}?", *values),
}
_OBJECT = {"type": "object"}

OPERATIONS = (
    Operation("GET", "/v2", "The server.", describe_server, TAG, reply=_OBJECT, statuses=()),
    Operation(
        *("GET", "/v2/health/live", "Is the process there?", is_live, TAG),
        reply=_OBJECT,
        statuses=(),
    ),
    Operation(
        *("GET", "/v2/health/ready", "Can it translate?", is_ready, TAG),
        reply=_OBJECT,
        statuses=(),
    ),
    Operation(
        *("GET", "/v2/models/{name}", "A model's tensors.", describe_model, TAG),
        reply=_OBJECT,
        statuses=(404,),
    ),
    Operation(
        *("GET", "/v2/models/{name}/ready", "Is the model there?", is_model_ready, TAG),
        reply=_OBJECT,
        statuses=(404,),
    ),
    Operation(
        *("POST", "/v2/models/{name}/infer", "Translate tensors of texts.", infer, TAG),
        body=InferBody,
        reply=_OBJECT,
        statuses=(400, 401, 403, 404, 408, 413, 429, 503),
    ),
)
