"""The service's description in OpenAPI 3.1, made of its operations."""

import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from transformer.serving.http.operations import Operation, Schema

_REF = "#/components/schemas/{model}"
_MEANING = {
    400: "The request is wrong; the message tells what.",
    401: "An API key is needed.",
    403: "The API key is unknown, or this is not allowed.",
    404: "There is no such thing.",
    408: "The request came too slowly.",
    409: "Not done; all stays as it was.",
    413: "The body is too large.",
    415: "The body's content type is unknown.",
    429: "Too many requests wait; Retry-After tells when to try again.",
    503: "Not done in time.",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """The description, as JSON holds it."""
    found = [part for one in operations for part in (one.body, one.reply)]
    models = {part for part in found if isinstance(part, type)}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "validation") for model in ordered], ref_template=_REF
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "transformer-mt", "version": metadata.version("transformer-mt")},
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _describe(operation: Operation) -> dict[str, Any]:
    error = {
        "type": "object",
        "properties": {operation.error: {"type": "string"}},
        "required": [operation.error],
    }
    told: dict[str, Any] = {
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": {
            "200": {
                "description": "Done.",
                "content": {operation.gives: {"schema": _schema(operation.reply)}},
            },
            **{
                str(status): {
                    "description": _MEANING[status],
                    "content": {"application/json": {"schema": error}},
                }
                for status in operation.statuses
            },
        },
    }
    if names := re.findall(r"{(\w+)}", operation.path):
        told["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in names
        ]
    if operation.body is not None:
        schema = {"schema": _schema(operation.body)}
        told["requestBody"] = {
            "required": True,
            "content": dict.fromkeys(operation.accepts, schema),
        }
    return told


def _schema(part: type[BaseModel] | Schema | None) -> Mapping[str, Any]:
    if part is None:
        return {"type": "string"}
    return part if isinstance(part, Mapping) else {"$ref": _REF.format(model=part.__name__)}
