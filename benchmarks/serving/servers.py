"""Servers as processes of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil

from benchmarks.decoding.ctranslate2_model import convert_model
from benchmarks.harness.environment import (
    ROOT,
    Environment,
    ensure_environment,
    project_environment,
)
from benchmarks.serving.load import Job
from transformer.files import write_json
from transformer.model.checkpoint import load_with_tokenizers
from transformer.serving.card import load_card

# The last three are for our tokenizer in it.
LIBRETRANSLATE = Environment(
    "libretranslate",
    ("libretranslate==1.9.6", "ctranslate2==4.8.5", "pydantic==2.14.3", "tokenizers==0.23.3"),
)
_START_SECONDS = 60


class Server:
    """A process that listens on a free port.

    Args:
        command: with `{port}` where that stands.
        log: where it writes.
        health: a route that answers once it is ready.
        variables: of its environment, besides ours.

    Raises:
        ValueError: it ended, or was not ready in time.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        health: str = "/ready",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [part.format(port=self.port) for part in command]
        self._log, self._health = log, health
        self._environment = project_environment() | dict(variables or {})
        self.start()

    def start(self) -> None:
        """Starts it, or starts it again, on the same port."""
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=ROOT, env=self._environment
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ValueError(f"no server: see {self._log}: {' '.join(self._command)}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}{self._health}", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def post(self, path: str) -> int:
        """The status of an empty POST."""
        request = urllib.request.Request(f"{self.url}{path}", data=b"")
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code

    @property
    def memory_bytes(self) -> int:
        """What it holds in memory now."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Sends a signal, and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def stop(self) -> None:
        """Ends it."""
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def service(model: Path, log: Path, *options: str) -> Server:
    """This project's service, without the cache, which would answer most of a benchmark."""
    command = [sys.executable, "-m", "pipeline", "serve", "--model", str(model)]
    return Server([*command, "--port", "{port}", "--cache-entries", "0", *options], log)


def libretranslate(project: Path, folder: Path, log: Path) -> Server:
    """LibreTranslate's server with a project's model, int8, a worker for each core.

    Raises:
        UnavailableError: it can't be installed, or CTranslate2 has no such model.
    """
    python = ensure_environment(LIBRETRANSLATE)
    translator = project / "models/translator"
    model, info, _ = load_with_tokenizers(project / "models/checkpoint", translator)
    package = folder / "packages/ours"
    convert_model(python, folder / "ctranslate2", model, info, None)
    shutil.copytree(folder / "ctranslate2/int8", package / "model")
    card = load_card(translator)
    codes = {"from_code": card.source_language, "to_code": card.target_language}
    names = {"from_name": card.source_language, "to_name": card.target_language}
    write_json(package / "metadata.json", codes | names | {"package_version": "1"})
    command = [str(python), "-m", "benchmarks.serving.libretranslate", str(translator), "{port}"]
    variables = {
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "ARGOS_PACKAGES_DIR": str(folder / "packages"),
        "ARGOS_COMPUTE_TYPE": "int8",
        "ARGOS_INTER_THREADS": str(os.cpu_count()),
        "ARGOS_INTRA_THREADS": "1",
    }
    return Server(command, log, "/health", variables)


def start_load(
    urls: Sequence[str],
    bodies: Sequence[str],
    seconds: float,
    rate: float | None = None,
    num_clients: int = 1,
    retries: int = 0,
) -> "Load":
    """Begins to ask; `Load.result` waits for its end."""
    job = Job(
        urls=list(urls),
        bodies=list(bodies),
        seconds=seconds,
        rate=rate,
        num_clients=num_clients,
        retries=retries,
    )
    return Load("benchmarks.serving.load", [], job)


class Load:
    """A child that is given JSON and answers JSON."""

    def __init__(self, module: str, arguments: Sequence[str], given: Any) -> None:
        command = [sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(given))
        self._process.stdin.close()
        assert self._process.stdout is not None
        self._process.stdout.readline()  # imports are over, the work begins

    def result(self) -> Any:
        """What it answered.

        Raises:
            ValueError: it failed.
        """
        assert self._process.stdout is not None
        answer = self._process.stdout.read()
        if self._process.wait():
            raise ValueError("the load's process failed, as it tells above")
        return json.loads(answer)


def replace_model(folder: Path, fresh: Path) -> None:
    """Puts a copy of `fresh` where `folder` is, at once, as an export does."""
    staged = folder.with_name(f"{folder.name}.new")
    shutil.copytree(fresh, staged)
    old = folder.with_name(f"{folder.name}.old")
    folder.replace(old)
    staged.replace(folder)
    shutil.rmtree(old)
    os.utime(folder)
