"""What a command that can't go on says: a message where the user can mend it, else a traceback."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from transformer.urls import hide_secrets

# What to do about what the system reports.
_ADVICE = {
    errno.ENOSPC: "free some space there, and run it again",
    errno.EDQUOT: "your quota there is used up; free some space, and run it again",
    errno.EACCES: "check who may read and write there",
    errno.EPERM: "check who may read and write there",
    errno.EROFS: "it can only be read there; work in a copy elsewhere",
    errno.EIO: "the disk, or the network it is reached by, has failed; see the system's log",
    errno.EMFILE: "raise the limit (`ulimit -n`)",
    errno.ENAMETOOLONG: "shorten it",
    errno.ELOOP: "links point at each other there; remove one",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f`)",
    errno.EISDIR: "a file is expected there",
    errno.ENOTDIR: "a folder is expected there",
    errno.ENOENT: "correct the path, or run the stages that make it",
    errno.ENOMEM: "end other programs, or take a smaller batch or model",
}


@contextmanager
def told_errors(command: str) -> Iterator[None]:
    """Ends the process with code 1 and a line on standard error where `command` fails.

    A `ValueError` has its message already; of the system's errors the path and what to do are
    told. All else is a bug, and shows its traceback.
    """
    try:
        yield
    except OSError as error:
        _end(f"{command}: {describe(error)}")
    except ValueError as error:
        _end(str(error))
    except MemoryError:
        _end(f"{command}: out of memory; {_ADVICE[errno.ENOMEM]}")
    except Exception as error:
        if type(error).__module__.startswith("mlflow."):  # told without importing it
            _end(f"{command}: MLflow refused or was lost: {error}")
        with suppress(OSError):
            traceback.print_exc()
        _end(
            f"{command} met with something that nobody thought of. This is a bug of the pipeline: "
            "please report it with the lines above, params.yaml, and what `git log -1` says"
        )


def describe(error: OSError) -> str:
    """Path, reason and advice, as far as the error has them."""
    number, said = error.errno, error.strerror
    if number is None or said is None:
        said = str(error) or type(error).__name__
        found = re.search(r"\[errno (\d+)\]", said)  # as pyarrow has it
        number = int(found[1]) if found else 0
    paths = [str(name) for name in (error.filename, error.filename2) if name is not None]
    if paths:
        shown = [name if len(name) <= 200 else f"{name[:100]}…{name[-80:]}" for name in paths]
        said = f"{' -> '.join(shown)}: {said}"
    return f"{said}; {_ADVICE[number]}" if number in _ADVICE else said


def _end(message: str) -> None:
    with suppress(OSError):  # nobody can be told where standard error is full
        typer.secho(f"error: {hide_secrets(message)}", err=True, fg=typer.colors.RED)
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:  # Python would try again, and fail with another message
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
