"""TERM and Ctrl-C, noted rather than obeyed at once."""

import signal
import threading
import time
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What a shell reports of a process that a signal ended.
_EXIT_BASE = 128
# Within it one wish reaches a process by two ways, as from a cluster's scheduler and by torchrun.
_SAME_WISH_SECONDS = 1.0


class StopSignals:
    """While entered, the first TERM or INT is noted; one a second later has its usual effect.

    A signal that the process was started to ignore, as a shell's background jobs are with INT,
    stays ignored. Python handles signals in the main thread alone: entered in another one, this
    does nothing.
    """

    def __init__(self) -> None:
        self._noted: int | None = None
        self._noted_at = 0.0
        self._usual: dict[int, Any] = {}

    def is_requested(self) -> bool:
        """Whether one was noted."""
        return self._noted is not None

    @property
    def exit_code(self) -> int:
        """143 after TERM, or another process's word; 130 after Ctrl-C, as shells have it."""
        return _EXIT_BASE + (self._noted or signal.SIGTERM)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._usual[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        while self._usual:
            signal.signal(*self._usual.popitem())

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._noted is None:
            self._noted, self._noted_at = number, time.monotonic()
        elif time.monotonic() - self._noted_at >= _SAME_WISH_SECONDS:
            self.__exit__()
            signal.raise_signal(number)
