"""The processes of one training: started here, or joined where torchrun started them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from transformer.training.distributed import Ranks

# How long the others may take to leave by themselves, once one has ended badly.
_GRACE_SECONDS = 15.0
_POLL_SECONDS = 0.05
# What a shell reports of a process that a signal ended.
_EXIT_BASE = 128
_ASKED_TO = (signal.SIGINT, signal.SIGTERM)


def is_rank() -> bool:
    """Whether this process is one of several that somebody started, as torchrun does."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def launch_ranks(num_processes: int, arguments: Sequence[str]) -> int:
    """Runs `python -m pipeline ARGUMENTS` as the ranks of one training on this machine.

    TERM and Ctrl-C are handed on to them, each time. Where one fails, the others leave with it:
    they notice that it's gone, and are killed if they don't.

    Returns:
        The exit code: 0, or that of the first rank that failed.
    """
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        environment = os.environ | {
            "WORLD_SIZE": str(num_processes),
            "LOCAL_WORLD_SIZE": str(num_processes),
            "TRAIN_RENDEZVOUS": (Path(folder) / "rendezvous").as_uri(),
        }
        # They talk on this machine alone.
        environment.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
        command = [sys.executable, "-m", "pipeline", *arguments]
        ranks: list[subprocess.Popen[bytes]] = []
        with _handing_on_signals(ranks):
            for rank in map(str, range(num_processes)):
                own = environment | {"RANK": rank, "LOCAL_RANK": rank}
                # In a session of its own: a terminal's Ctrl-C comes here, and is handed on once.
                ranks += [subprocess.Popen(command, env=own, start_new_session=True)]
            return _wait(ranks)


@contextmanager
def joined_ranks() -> Iterator["Ranks"]:
    """This process's place among the ranks of the training; alone, where nobody started several.

    An error is told by the first rank that meets it; the others leave with code 1 and no word.

    Raises:
        ValueError: the ranks do not find each other.
    """
    from transformer.training.distributed import Ranks, connected

    if not is_rank():
        yield Ranks()
        return
    with connected() as ranks:
        try:
            yield ranks
        except typer.Exit:
            raise
        except Exception as error:
            if not ranks.is_first_to_fail():
                raise typer.Exit(1) from None
            if ranks.rank > 0 and isinstance(error, ValueError):
                raise ValueError(f"rank {ranks.rank}: {error}") from error
            raise


def is_orphan(parent: int) -> bool:
    """Whether a rank's launcher, whose process id is given, has gone."""
    return is_rank() and os.getppid() != parent


@contextmanager
def _handing_on_signals(ranks: "list[subprocess.Popen[bytes]]") -> Iterator[None]:
    def hand_on(number: int, _: FrameType | None) -> None:
        for rank in ranks:
            if rank.poll() is None:
                rank.send_signal(number)

    usual = {
        number: signal.signal(number, hand_on)
        for number in _ASKED_TO
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _wait(ranks: "list[subprocess.Popen[bytes]]") -> int:
    """Until all have ended. Returns the exit code of the first that failed, or 0."""
    code, deadline = 0, None
    while any(rank.poll() is None for rank in ranks):
        code = code or _failure(ranks)
        if code and deadline is None:
            deadline = time.monotonic() + _GRACE_SECONDS
        if deadline is not None and time.monotonic() > deadline:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
        time.sleep(_POLL_SECONDS)
    return code or _failure(ranks)


def _failure(ranks: "list[subprocess.Popen[bytes]]") -> int:
    """The exit code of a rank that failed; 0: none has. Tells of one that couldn't tell itself."""
    for number, rank in enumerate(ranks):
        if rank.returncode is not None and rank.returncode < 0:
            by = signal.Signals(-rank.returncode)
            if by not in _ASKED_TO:
                hint = "; the system does so where memory runs out" if by.name == "SIGKILL" else ""
                message = f"error: rank {number} of {len(ranks)} was ended by {by.name}{hint}"
                typer.secho(message, err=True, fg=typer.colors.RED)
            return _EXIT_BASE + by
    return next((rank.returncode for rank in ranks if rank.returncode), 0)
