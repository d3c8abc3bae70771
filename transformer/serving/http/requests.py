"""Requests as values: from the query, a form or JSON, whichever the client sends."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from transformer.config import parse_section
from transformer.serving.http.errors import ServiceError, invalid

_MOST_FIELDS = 2_000
_M = TypeVar("_M", bound=BaseModel)


async def read_json(request: Request) -> Any:
    """The body as JSON.

    Raises:
        ServiceError: it is none.
    """
    return parse_json(await request.body())


def parse_json(body: bytes) -> Any:
    """What JSON stands for.

    Raises:
        ServiceError: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid(f"Invalid request: the body is not JSON: {error}") from None


async def read_values(request: Request) -> dict[str, Any]:
    """Query, form and JSON object as one; a name that stands several times has a list.

    Raises:
        ServiceError: the body is not what its content type says.
    """
    values = _collect(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    body = await request.body()
    if kind == "application/json":
        found = parse_json(body)
        if not isinstance(found, dict):
            raise invalid("Invalid request: the body must be a JSON object")
        return values | found
    if body and kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await _read_form(request)
        return values | _collect(form.multi_items())
    if body:
        raise ServiceError(
            415,
            f"content type {kind!r}: send application/json, or a form, and name it so",
            "invalid",
        )
    return values


def parse(section: type[_M], name: str, values: Any) -> _M:
    """Values as a typed object.

    Raises:
        ServiceError: all that is wrong with them.
    """
    found, problems = parse_section(section, name, values)
    if found is None:
        raise invalid("Invalid request: " + "; ".join(problems))
    return found


async def _read_form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=1 << 31)
    except Exception as error:  # of the parser's several kinds, and of encodings
        if isinstance(error, MemoryError):
            raise
        detail = getattr(error, "detail", None) or error
        raise invalid(f"Invalid request: the form can't be read: {detail}") from None


def _collect(items: Sequence[tuple[str, str | UploadFile]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in items:
        if name in values:
            before = values[name]
            values[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            values[name] = value
    return values
