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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import psutil

from benchmarks.harness.environment import ROOT
from benchmarks.serving.load import Job

_START_SECONDS = 60


class Server:
    """A process that answers `GET /ready`, on a free port.

    Raises:
        ValueError: it ended, or was not ready in time.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [part.format(port=self.port) for part in command]
        self._log = log
        self.start()

    def start(self) -> None:
        """Starts it, or starts it again, on the same port."""
        with self._log.open("a") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=ROOT)
        deadline = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ValueError(f"no server: see {self._log}: {' '.join(self._command)}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/ready", timeout=5):
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


def rival(model: Path, log: Path) -> Server:
    """The plain loop."""
    return Server([sys.executable, "-m", "benchmarks.serving.rival", str(model), "{port}"], log)


def start_load(
    urls: Sequence[str],
    texts: Sequence[str],
    seconds: float,
    rate: float | None = None,
    num_clients: int = 1,
    retries: int = 0,
) -> "Load":
    """Begins to ask; `Load.result` waits for its end."""
    job = Job(
        urls=list(urls),
        texts=list(texts),
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
