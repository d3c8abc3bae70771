"""Who uses the folder that a killed training goes on from, and when an unused one goes."""

import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from transformer.files import read_json, write_json

# Of trainings that nobody went on with.
_MAX_AGE_DAYS = 14
_MAX_FOLDERS = 20
_LOCK, _OWNER = "lock", "owner.json"


class InUseElsewhereError(Exception):
    """Another checkout's process holds the folder."""


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Makes a folder this process's own, and prunes old ones beside it.

    The lock is the operating system's, so it ends with the process, however that ends.

    Raises:
        InUseElsewhereError: the same training runs in another folder, as in an experiment's copy.
        ValueError: it runs in this very folder, and both would write the same files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise _tell_owner(folder) from None
    try:
        write_json(
            folder / _OWNER,
            {"process": os.getpid(), "machine": socket.gethostname(), "folder": str(Path.cwd())},
        )
        _prune(folder)
        yield
    finally:
        lock.release()


def _tell_owner(folder: Path) -> Exception:
    owner = {"process": "unknown", "machine": "unknown", "folder": ""}
    with suppress(OSError, ValueError):  # it may be writing it right now
        owner |= read_json(folder / _OWNER)
    process = f"process {owner['process']} on {owner['machine']}"
    if owner["folder"] not in ("", str(Path.cwd())):
        return InUseElsewhereError(f"{process} runs the same training in {owner['folder']}")
    return ValueError(
        f"{process} is running this very training; stop it with `kill {owner['process']}` and "
        "start again, which goes on where it stopped"
    )


def _prune(own: Path) -> None:
    # A folder's time is that of its latest state. One that is in use is left alone.
    others = [path for path in own.parent.iterdir() if path.is_dir() and path != own]
    others.sort(key=_last_use, reverse=True)
    for index, folder in enumerate(others):
        is_old = time.time() - _last_use(folder) > _MAX_AGE_DAYS * 24 * 3600
        if is_old or index + 1 >= _MAX_FOLDERS:
            with suppress(Timeout), FileLock(folder / _LOCK).acquire(timeout=0):
                shutil.rmtree(folder, ignore_errors=True)


def _last_use(folder: Path) -> float:
    latest = 0.0
    for path in (folder, *folder.glob("*/")):
        with suppress(FileNotFoundError):  # another process may be pruning too
            latest = max(latest, path.stat().st_mtime)
    return latest
