"""Refusing whole requests while too many wait, before anything is made of them.

A request costs the event loop a quarter of a millisecond even if it is refused at the first
opportunity, most of it uvicorn's and Starlette's. At ten times what the translators can do that
would take more than a core. What is refused here costs a fraction; it is counted, but not logged.
"""

import re
from email.utils import formatdate
from http import HTTPStatus

from transformer.serving.http.dialects import own
from transformer.serving.http.errors import ServiceError
from transformer.serving.http.operations import SECURITY_HEADERS, error_response
from transformer.serving.http.service import Service

# One request that has come whole, of a client that keeps its connection open.
_PLAIN = (
    rb"(?:(?!content-length:|transfer-encoding:|expect:|upgrade:|connection:(?! *keep-alive *\r))"
    rb"[^\r\n]+\r\n)*"
)
_REQUEST = re.compile(
    rb"POST (?P<path>/[^ ?\r\n]*)[^ \r\n]* HTTP/1\.1\r\n"
    + _PLAIN
    + rb"content-length: *(?P<length>\d{1,9}) *\r\n"
    + _PLAIN
    + rb"\r\n",
    re.IGNORECASE,
)


def refuse(data: bytes, service: Service) -> bytes | None:
    """The answer to a request that there is no room for, byte for byte the application's.

    Args:
        data: what a connection that is idle received.
        service: whose room it is.

    Returns:
        None: there is room, or the application is to see to it: no translation is asked for, the
        request has not come whole, or there is something special about it.
    """
    try:
        service.expect_room()
    except ServiceError as error:
        found = _REQUEST.match(data)
        if found is None or len(data) - found.end() != int(found["length"]):
            return None
        if found["path"] == own.RELOAD.encode():
            return None
        service.metrics.refused.labels(error.reason).inc()
        service.metrics.requests.labels("other", "POST", str(error.status)).inc()
        return _write(error, found["path"])
    return None


def _write(error: ServiceError, path: bytes) -> bytes:
    response = error_response(error, "message" if path.startswith(b"/v2/") else "error")
    headers = [
        (b"date", formatdate(usegmt=True).encode()),
        *response.raw_headers,
        *((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
    ]
    status = f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\n".encode()
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return status + lines + b"\r\n" + bytes(response.body)
