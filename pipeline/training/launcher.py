"""The processes of one training: started here, or joined where somebody started them."""

import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

    from transformer.training.distributed import Ranks

# What a shell reports of a process that a signal ended.
_EXIT_BASE = 128
_ASKED_TO = (signal.SIGINT, signal.SIGTERM)


def is_rank() -> bool:
    """Whether this process is one of several that somebody started, as torchrun does."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


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
