"""A real server on a free port, around translators that copy their source."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from transformer.serving.http.app import make_app
from transformer.serving.http.catalog import load_catalog
from transformer.serving.http.keys import Keys
from transformer.serving.http.limits import Limits
from transformer.serving.http.server import make_config
from transformer.serving.http.service import Service
from transformer.serving.translator import Translator


class Served:
    """A service that runs in a thread of its own."""

    def __init__(self, service: Service, server: Any, url: str) -> None:
        self.service = service
        self.server = server  # uvicorn's
        self.url = url

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def metric(self, name: str, **labels: str) -> float:
        return self.service.metrics.registry.get_sample_value(f"translator_{name}", labels) or 0.0


@contextmanager
def running(service: Service, **options: Any) -> Iterator[Served]:
    import uvicorn

    config = make_config(make_app(service, **options), service.limits, port=0)
    listener = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Served(service, server, f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def serve(make_translator: Callable[..., Path]) -> Iterator[Callable[..., Served]]:
    """Starts servers; each ends with the test."""
    with ExitStack() as stack:

        def start(
            *folders: Path,
            keys: Path | None = None,
            limits: Limits | None = None,
            num_workers: int = 1,
            **options: Any,
        ) -> Served:
            paths = folders or [make_translator(words=["un", "deux", "chat", "dort"])]
            service = Service(
                lambda known: load_catalog(paths, "cpu", "auto", known),
                lambda: Keys(keys),
                limits,
                num_workers,
            )
            return stack.enter_context(running(service, **options))

        yield start


@pytest.fixture
def slow_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Any, Any]]]:
    """Closes a gate before each run of a graph."""
    gate, entered = threading.Event(), threading.Event()
    run = Translator.run

    def waiting_run(self, rows, options):
        entered.set()
        gate.wait(20)
        return run(self, rows, options)

    def install():
        monkeypatch.setattr(Translator, "run", waiting_run)
        return gate, entered

    yield install
    gate.set()
