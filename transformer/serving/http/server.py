"""The application on a socket, by uvicorn."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from transformer.serving.http.app import JsonFormatter
from transformer.serving.http.limits import Limits
from transformer.serving.http.service import Service
from transformer.serving.http.shedding import refuse

# Of an idle connection that a client keeps open.
_KEEP_ALIVE_SECONDS = 30
# In which the event loop takes in what has come.
_LOOK_SECONDS = 0.1
# Of a request's head, from which the parser takes as much as comes.
_MAX_HEAD_BYTES = 1 << 16


def serve(
    app: Starlette, host: str, port: int, limits: Limits, on_listening: Callable[[], object]
) -> None:
    """Serves until INT or TERM; then what has begun is answered first.

    Args:
        app: of `make_app`.
        host: an address of this machine.
        port: there.
        limits: of requests.
        on_listening: called once clients can connect.

    Raises:
        ValueError: nothing can listen there.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    levels = {"transformer.serving.http": "INFO", "uvicorn": "WARNING", "python_multipart": "ERROR"}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    raise_file_limit(4 * limits.max_requests)
    config = make_config(app, limits, host=host, port=port)
    try:
        listener = config.bind_socket()
    except SystemExit:  # it has been logged
        raise ValueError(
            f"can't listen on {host}:{port}; end what does, or take another --port"
        ) from None
    listener.listen()
    on_listening()
    uvicorn.Server(config).run(sockets=[listener])


def make_config(app: Starlette, limits: Limits, **options: Any) -> uvicorn.Config:
    """uvicorn's settings for an application of `make_app`."""

    class Protocol(_PatientProtocol):
        service = app.state.service
        receive_seconds = limits.receive_seconds

    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.deadline_seconds) + 1,
        **options,
    )


class _PatientProtocol(HttpToolsProtocol):
    """uvicorn's HTTP, with limits on the time and the bytes that a request's head may take.

    Where too many wait, whole requests are refused as they come.

    Without them a client that sends a byte a minute, or none, would hold its connection for ever,
    and one that sends no end of headers would fill the memory.
    """

    service: Service
    receive_seconds = 0.0
    _num_head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A new connection: its first head is waited for."""
        super().connection_made(transport)
        # An answer's head and body go at once: asyncio sees to it for sockets of its own only, and
        # where it doesn't, a body waits 40 ms for the client to acknowledge the head.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Bytes came: of a head, if no request is being answered."""
        if self._is_idle() and not self._num_head_bytes:
            refusal = refuse(data, self.service)
            if refusal is not None:
                self._unset_keepalive_if_required()
                self.transport.write(refusal)
                self._unwatch()
                self._watch()
                return
        super().data_received(data)
        if not self._is_idle():
            self._unwatch()
            self._num_head_bytes = 0
            return
        self._num_head_bytes += len(data)
        if self._num_head_bytes > _MAX_HEAD_BYTES:
            self.transport.close()
        elif self._timer is None:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._unwatch()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        self._timer = self.loop.call_later(self.receive_seconds, self._look_once_more)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_once_more(self) -> None:
        # Where the event loop had too much to do, the request may have come in time.
        self._timer = self.loop.call_later(_LOOK_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle():
            self.transport.close()


def raise_file_limit(wanted: int) -> None:
    """Lets the process have as many open files, if the system does."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
