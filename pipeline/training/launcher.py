"""The processes of one training: started here, or joined where somebody started them."""

import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

    from transformer.training.distributed import Ranks

# What a shell reports of a process that a signal ended.
_EXIT_BASE = 128
_ASKED_TO = (signal.SIGINT, signal.SIGTERM)
# The process id of `launch_ranks`, for its ranks.
_LAUNCHER = "PIPELINE_LAUNCHER"
# How long a rank whose launcher has gone may take to save and leave.
_GRACE_SECONDS = 10
# Of Linux's prctl: the signal that a process gets as its parent ends.
_PR_SET_PDEATHSIG = 1


def is_rank() -> bool:
    """Whether this process is one of several that somebody started, as torchrun does."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def check_devices(num_processes: int, device_name: str) -> None:
    """Refuses more processes than there are devices: GPUs, or cores where the CPU trains.

    Args:
        num_processes: those that are to train on this machine.
        device_name: the param `train.device`.

    Raises:
        ValueError: there are fewer devices.
    """
    import torch

    from transformer.machine import count_cores
    from transformer.training.device import choose_device

    is_cuda = choose_device(device_name).type == "cuda"
    available = torch.cuda.device_count() if is_cuda else count_cores()
    if num_processes > available:
        what = "GPUs" if is_cuda else "cores"
        raise ValueError(
            f"train.num_processes = {num_processes}: this machine has {available} {what}, one for "
            "each process at most; lower it"
        )


def end_with_launcher() -> None:
    """Has this rank end soon after the process that started it, however that one ends.

    Where the system can (Linux), the rank gets TERM at once, which lets it save; everywhere, a rank
    that is still there ten seconds later is killed, in whatever call it is stuck. Call it first of
    all, in the main thread.
    """
    parent = int(os.environ.get(_LAUNCHER, os.getppid()))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # no such call in this C library
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it went before that call
        os.kill(os.getpid(), signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        time.sleep(_GRACE_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="launcher's end", daemon=True).start()


def launch_ranks(num_processes: int, arguments: Sequence[str]) -> int:
    """Runs `python -m pipeline ARGUMENTS` as the ranks of one training on this machine.

    torchrun's launcher starts them, each in a session of its own: a terminal's Ctrl-C comes here.
    It hands TERM and Ctrl-C on, and sends TERM to the others where one rank fails; who has not
    left 30 seconds later is killed. A second TERM or Ctrl-C ends them at once.

    Returns:
        The exit code: 0; 143 or 130 after TERM or Ctrl-C; else that of the first rank that failed.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # It logs at length what the ranks and the line below tell.
    logging.disable()
    os.environ[_LAUNCHER] = str(os.getpid())
    # They talk on this machine alone.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    handed_on = [number for number in _ASKED_TO if signal.getsignal(number) != signal.SIG_IGN]
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num_processes,
        logs_specs=DefaultLogsSpecs(os.devnull),
        run_id="train",
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",  # any free port
        local_addr="127.0.0.1",
        max_restarts=0,
        # No more than these: a terminal that closes ends the launcher alone, and the ranks save.
        signals_to_handle=",".join(number.name for number in handed_on),
    )
    try:
        elastic_launch(config, sys.executable)("-m", "pipeline", *arguments)
    except SignalException as stop:
        return _EXIT_BASE + stop.sigval
    except ChildFailedError as error:
        return _tell_failure(error.failures, num_processes)
    return 0


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


def _tell_failure(failures: "Mapping[int, ProcessFailure]", num_ranks: int) -> int:
    """The exit code of the first rank that failed. Tells of one that couldn't tell itself."""

    def when(rank: int) -> tuple[int, bool]:
        # In seconds: a rank that was killed comes before those that noticed within the same one.
        return failures[rank].timestamp, not is_killed(failures[rank])

    def is_killed(failure: "ProcessFailure") -> bool:
        return failure.exitcode < 0 and -failure.exitcode not in _ASKED_TO

    rank = min(failures, key=when)
    failure = failures[rank]
    if is_killed(failure):
        by = failure.signal_name()
        hint = "; the system does so where memory runs out" if by == "SIGKILL" else ""
        message = f"error: rank {rank} of {num_ranks} was ended by {by}{hint}"
        typer.secho(message, err=True, fg=typer.colors.RED)
    return failure.exitcode if failure.exitcode > 0 else _EXIT_BASE - failure.exitcode
