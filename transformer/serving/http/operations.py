"""What the service offers: a list of operations, from which routes and description are made."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from transformer.serving.http.errors import ServiceError
from transformer.serving.http.service import Service

Handler = Callable[[Service, Request], Awaitable[Response]]
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """A route, with what its description says.

    `error` is the name under which the dialect's errors have their message.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    handler: Handler
    tag: str
    # Of the JSON body, and of the reply: a model, or a JSON schema.
    body: type[BaseModel] | Schema | None = None
    reply: type[BaseModel] | Schema | None = None
    error: str = "error"
    # Content types of the body.
    accepts: tuple[str, ...] = ("application/json",)
    gives: str = "application/json"
    # Statuses besides 200 that it may answer with.
    statuses: tuple[int, ...] = field(default=(400, 401, 403, 408, 413, 415, 429, 503))


# Of every answer that names none of its own.
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class JsonResponse(Response):
    """A value as JSON, whatever characters its texts hold."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """UTF-8; what can't be written in it, half of a surrogate pair, becomes a question mark."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def error_response(error: ServiceError, name: str = "error") -> Response:
    """What a client is told of an error."""
    headers = {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    return JsonResponse({name: error.message}, error.status, headers)
