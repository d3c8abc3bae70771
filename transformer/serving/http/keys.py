"""API keys: a file of their hashes, with what each may translate in a minute."""

import hashlib
import math
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from transformer.serving.http.errors import ServiceError

_LINE = re.compile(r"(?P<name>[\w.-]+) (?P<sha256>[0-9a-f]{64})(?: (?P<limit>[1-9]\d{0,11}))?")
_MINUTE = 60.0


class Caller:
    """Who asks: the holder of a key, or anybody.

    Args:
        name: of the key; empty for anybody.
        limit: characters a minute; None for no limit.
        now: a clock, in seconds.
    """

    def __init__(
        self, name: str, limit: int | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self.limit = limit
        self.num_characters = 0
        self._now = now
        self._spent, self._since = 0.0, now()

    def charge(self, num_characters: int) -> None:
        """Counts characters; what was spent comes back evenly within a minute.

        Raises:
            ServiceError: 429, more than the limit within a minute; 413, more than ever fits.
        """
        if self.limit is not None:
            if num_characters > self.limit:
                raise ServiceError(
                    413,
                    f"{num_characters} characters: this key may translate {self.limit} a minute; "
                    "send less at once",
                    "key limit",
                )
            now, rate = self._now(), self.limit / _MINUTE
            self._spent = max(0.0, self._spent - (now - self._since) * rate)
            self._since = now
            excess = self._spent + num_characters - self.limit
            if excess > 0:
                raise ServiceError(
                    429,
                    f"Slowdown: this key may translate {self.limit} characters a minute",
                    "key limit",
                    max(1, math.ceil(excess / rate)),
                )
            self._spent += num_characters
        self.num_characters += num_characters


class Keys:
    """The keys of a file; without one anybody may ask.

    Raises:
        ValueError: a line of the file is wrong; it is named. Or the file is not UTF-8.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._anybody = None if file else Caller("")
        self._callers: dict[str, Caller] = {}
        self.names: set[str] = set()
        try:
            lines = file.read_text("utf-8").splitlines() if file else []
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}: not UTF-8: {error}; is it a file of keys?") from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = _LINE.fullmatch(line.strip())
            if found is None:
                raise ValueError(
                    f"{file}, line {number}: must be a name, the SHA-256 of a key, and perhaps "
                    "how many characters it may translate in a minute, with spaces between; "
                    "`serve --new-key NAME` writes such a line"
                )
            if found["name"] in self.names or found["sha256"] in self._callers:
                raise ValueError(f"{file}, line {number}: the name or the key stands there twice")
            self.names.add(found["name"])
            limit = int(found["limit"]) if found["limit"] else None
            self._callers[found["sha256"]] = Caller(found["name"], limit)

    @property
    def are_needed(self) -> bool:
        """False: anybody may ask."""
        return self._anybody is None

    def identify(
        self, authorization: str | None, key: str | None = None, missing_status: int = 401
    ) -> Caller:
        """Who asks.

        Args:
            authorization: the header, `Bearer KEY` or `DeepL-Auth-Key KEY`.
            key: from elsewhere in the request.
            missing_status: of the answer where there is no key.

        Raises:
            ServiceError: a key is needed and missing, or is unknown.
        """
        if self._anybody is not None:
            return self._anybody
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.casefold() in ("bearer", "deepl-auth-key") and given:
            key = given.strip()
        if not key:
            raise ServiceError(
                missing_status,
                "An API key is needed; please contact the server operator to get one",
                "no key",
            )
        # Looked up by its hash, so the time tells nothing of other keys.
        caller = self._callers.get(_hash(key))
        if caller is None:
            raise ServiceError(403, "Invalid API key", "invalid key")
        return caller


def make_key(name: str) -> tuple[str, str]:
    """A new key, and the line of the file that lets it in.

    Raises:
        ValueError: the name can't stand in such a line.
    """
    key = secrets.token_urlsafe(32)
    line = f"{name} {_hash(key)}"
    if not _LINE.fullmatch(line):
        raise ValueError(f"{name!r}: a key's name has letters, digits, _ . and - only")
    return key, line


def _hash(key: str) -> str:
    # Keys are 256 random bits: no slow hash is needed to keep them from being guessed.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
