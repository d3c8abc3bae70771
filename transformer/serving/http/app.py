"""The service as an ASGI application."""

import asyncio
import contextlib
import json
import logging
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transformer.serving.http.dialects import deepl, inference, libretranslate, own
from transformer.serving.http.errors import ServiceError
from transformer.serving.http.openapi import describe
from transformer.serving.http.operations import (
    SECURITY_HEADERS,
    JsonResponse,
    Operation,
    error_response,
)
from transformer.serving.http.service import Service

LOG = logging.getLogger("transformer.serving.http")
OPERATIONS = (
    *own.OPERATIONS,
    *libretranslate.OPERATIONS,
    *deepl.OPERATIONS,
    *inference.OPERATIONS,
)
# The key that stands in a body: as JSON, as a form, as a form of several parts.
_KEY = re.compile(r"""(api_key["']?\s*[:=]?\s*["']?)[^"'&,}\s]+""")
# Under which the parts of one request find each other in its scope.
_OPERATION = "translator.operation"
# Nginx's, for a client that didn't wait for its answer. Nobody receives it.
_GONE = 499


def make_app(
    service: Service,
    allowed_origins: Sequence[str] = (),
    log_texts: bool = False,
    more_routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """The application.

    Args:
        service: it is closed with the application.
        allowed_origins: web pages of these hosts may ask too (CORS).
        log_texts: bodies of requests stand in the log.
        more_routes: such as those of a page.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks: set[asyncio.Task[None]] = set()

        def reload() -> None:
            task = asyncio.create_task(_reload(service))
            tasks.add(task)  # else nobody would hold it
            task.add_done_callback(tasks.discard)

        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError, AttributeError):
            # Not in a thread of its own, and not on Windows.
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
        LOG.info("ready", extra={"fields": {"models": [m.name for m in service.catalog.models]}})
        yield
        service.close()

    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(allowed_origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
    )
    description = describe(OPERATIONS)

    async def openapi(request: Request) -> Response:
        return JsonResponse(description)

    app = Starlette(
        routes=[
            Route("/openapi.json", openapi),
            *(
                Route(one.path, _endpoint(one), methods=[one.method], name=one.handler.__name__)
                for one in OPERATIONS
            ),
            *more_routes,
        ],
        middleware=[
            Middleware(_Observer, log_texts=log_texts),
            *([cors] if allowed_origins else []),
            Middleware(_Intake),
        ],
        exception_handlers={HTTPException: _refuse_route},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


def _endpoint(operation: Operation) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        request.scope[_OPERATION] = operation
        service: Service = request.app.state.service
        try:
            if operation.method == "GET":
                return await operation.handler(service, request)
            return await _while_client_waits(request, operation.handler(service, request))
        except ServiceError as error:
            service.metrics.refused.labels(error.reason).inc()
            return error_response(error, operation.error)

    return answer


async def _while_client_waits(request: Request, answer: Any) -> Response:
    # What a client that has gone asked for is dropped from the queue.
    await request.body()
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()  # type: ignore[no-any-return]
        request.app.state.service.metrics.refused.labels("client gone").inc()
        return Response(status_code=_GONE)
    finally:
        work.cancel()
        gone.cancel()


async def _refuse_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JsonResponse({"error": error.detail}, error.status_code, error.headers)


async def _reload(service: Service) -> None:
    try:
        await service.reload()
    except ValueError as error:
        LOG.error("not reloaded", extra={"fields": {"error": str(error)}})
    else:
        models = {model.name: model.version for model in service.catalog.models}
        LOG.info("reloaded", extra={"fields": {"models": models}})


class _Intake:
    """Reads the body within its limits of size and time, before anything looks at it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._num_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service: Service = scope["app"].state.service
        self._num_open += 1
        try:
            if self._num_open > service.limits.max_requests:
                message = f"Slowdown: {self._num_open} requests are open; try again later"
                raise ServiceError(429, message, "crowd", 1)
            async with asyncio.timeout(service.limits.receive_seconds):
                body = await _read(receive, service.limits.max_body_bytes)
            if scope["method"] == "POST" and scope["path"] != own.RELOAD:
                service.expect_room()
        except TimeoutError:
            error = ServiceError(408, "the request's body came too slowly", "slow")
        except ServiceError as refused:
            error = refused
        else:
            if body is not None:
                await self._app(scope, _replay(body, receive), send)
            return
        finally:
            self._num_open -= 1
        service.metrics.refused.labels(error.reason).inc()
        response = error_response(error, "message" if scope["path"].startswith("/v2/") else "error")
        if error.reason != "busy":  # the rest of the body is not read
            response.headers["Connection"] = "close"
        await response(scope, receive, send)


async def _read(receive: Receive, max_bytes: int) -> bytes | None:
    # None: the client has gone.
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise ServiceError(413, f"the body has more than {max_bytes} bytes", "too large")
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    is_read = False

    async def replay() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Observer:
    """Outermost: counts and logs requests, sets headers, and answers where something broke."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self._app, self._log_texts = app, log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.monotonic()
        status = 0
        received = bytearray()

        async def observed_receive() -> Message:
            message = await receive()
            received.extend(message.get("body", b""))
            return message

        async def observed_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in SECURITY_HEADERS.items()
                        if name.lower().encode() not in present
                    ),
                ]
            await send(message)

        try:
            await self._app(scope, observed_receive if self._log_texts else receive, observed_send)
        except Exception:
            LOG.exception("a bug: please report it", extra={"fields": {"path": scope["path"]}})
            if not status:
                failed = ServiceError(500, "something broke; the service's log has it", "bug")
                await error_response(failed)(scope, receive, observed_send)
        finally:
            self._tell(scope, status, time.monotonic() - start, received)

    def _tell(self, scope: Scope, status: int, seconds: float, received: bytearray) -> None:
        operation = scope.get(_OPERATION)
        route = operation.path if operation else "other"
        # Methods are a client's words: only known ones become labels.
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
        metrics = scope["app"].state.service.metrics
        metrics.requests.labels(route, method, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        fields: dict[str, Any] = {"method": method, "route": route, "status": status}
        fields["milliseconds"] = round(1000 * seconds, 1)
        if self._log_texts:
            fields["body"] = _KEY.sub(r"\1***", received.decode("utf-8", "replace"))
        LOG.info("request", extra={"fields": fields})


class JsonFormatter(logging.Formatter):
    """A line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, message, then the record's own fields."""
        told = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)
