"""Translated files until they are fetched: in memory, for some minutes."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable


class FileStore:
    """Files by names that nobody can guess.

    Args:
        max_files: the oldest gives way to one more.
        seconds: that a file is kept.
        now: a clock, in seconds.
    """

    def __init__(
        self, max_files: int, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_files, self._seconds, self._now = max_files, seconds, now
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def put(self, content: bytes, ending: str) -> str:
        """Keeps a file, and returns its name."""
        self._forget()
        name = f"{secrets.token_urlsafe(24)}{ending}"
        self._files[name] = self._now(), content
        while len(self._files) > self._max_files:
            self._files.popitem(last=False)
        return name

    def get(self, name: str) -> bytes | None:
        """The file of this name; None if there is none, or no longer."""
        self._forget()
        found = self._files.get(name)
        return None if found is None else found[1]

    def _forget(self) -> None:
        while self._files and next(iter(self._files.values()))[0] < self._now() - self._seconds:
            self._files.popitem(last=False)
