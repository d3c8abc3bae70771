"""Functions that workers import by their names."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any


def double(number: int) -> int:
    """Late ones first, so that the order of the results is none of the workers' doing."""
    time.sleep(0.05 * (number % 3 == 0))
    return 2 * number


def double_slowly(number: int) -> int:
    """Leaves the time to end the node that works on it."""
    time.sleep(1)
    return 2 * number


def refuse(error: type[Exception], number: int) -> int:
    """Fails at the fourth shard."""
    if number == 3:
        raise error("line 7: no source")
    return number


def die(number: int) -> int:
    """Kills whatever process works on the fourth shard."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(marker: Path, function: Callable[[Any], Any], shard: Any) -> Any:
    """Kills the worker the first time that any shard is worked on."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(shard)


def clean_and_die_once(marker: Path, *arguments: Any) -> Any:
    """`clean_shard`, after a worker was killed."""
    from transformer.text.cleaning import clean_shard

    return die_once(marker, partial(clean_shard, *arguments[:-1]), arguments[-1])


def translate_and_die_once(marker: Path, *arguments: Any) -> Any:
    """`translate_shard`, after a worker was killed."""
    from transformer.serving.corpus import translate_shard

    return die_once(marker, partial(translate_shard, *arguments[:-1]), arguments[-1])


def dawdle(folder: Path, number: int) -> int:
    """Tells that it began, then takes a while."""
    (folder / str(number)).touch()
    time.sleep(1)
    return number
