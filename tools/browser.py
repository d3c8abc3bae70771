"""A headless Chromium, driven over its DevTools protocol through a pipe."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# Seconds that a page may take to show what it is waited for.
_PATIENCE = 60


def find_browser() -> str | None:
    """The path of an installed Chromium, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._call("Page.enable")

    def remember(self, **values: str) -> None:
        """Sets entries of the browser's local storage, before any page looks at them."""
        lines = [
            f"localStorage.setItem({json.dumps(k)}, {json.dumps(v)});" for k, v in values.items()
        ]
        self._call("Page.addScriptToEvaluateOnNewDocument", source="\n".join(lines))

    def open(self, url: str, width: int, height: int) -> None:
        """Loads a page into a window of this size, in pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        # From one fragment to another the browser would load nothing.
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression; None if it raised."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        return answer.get("result", {}).get("value")

    def wait(self, script: str, settle_seconds: float = 1.5) -> None:
        """Waits until an expression holds, and then for what is still being drawn.

        Raises:
            TimeoutError: it did not come to hold.
        """
        end = time.monotonic() + _PATIENCE
        while not self.evaluate(script):
            if time.monotonic() > end:
                raise TimeoutError(f"the page never came to: {script}")
            time.sleep(0.2)
        time.sleep(settle_seconds)

    def type(self, selector: str, text: str) -> None:
        """Types into the first field that a CSS selector finds."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self._call("Input.insertText", text=text)

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has gone")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(text))


@contextmanager
def open_browser(path: str) -> Iterator[Page]:
    """A tab of a fresh browser, which ends with the block."""
    their_in, to_browser = os.pipe()
    from_browser, their_out = os.pipe()
    # The browser reads from 3 and writes to 4; the shell puts the pipes there.
    move = f'exec "$0" "$@" 3<&{their_in} 4>&{their_out}'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["bash", "-c", move, path, *_OPTIONS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            command, pass_fds=(their_in, their_out), stderr=subprocess.DEVNULL
        )
        os.close(their_in)
        os.close(their_out)
        try:
            yield Page(to_browser, from_browser)
        finally:
            process.terminate()
            process.wait()
            os.close(to_browser)
            os.close(from_browser)
