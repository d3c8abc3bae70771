"""A training that can be killed, and that the same command goes on with."""

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
import typer

from pipeline.repository import main_checkout
from pipeline.training.fingerprint import Fingerprint, list_changed
from pipeline.training.launcher import is_orphan
from pipeline.training.resume_folder import InUseElsewhereError, hold_folder
from pipeline.training.stop_signals import StopSignals
from transformer.training.distributed import Ranks
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.state import SavedState
from transformer.training.state_store import StateStore

# Ignored by git and DVC, and outside the stage's outs, which DVC deletes before the stage runs.
# In the main checkout, since an experiment's copy under .dvc/tmp/exps is gone after a kill.
STATES = Path(".state/train")
# Among the values of a state: the files that computed it.
_CODE = "code"


class Resumable(NamedTuple):
    """What a training that can be killed is handed."""

    resume: Resume
    folder: Path | None  # for what else outlives a kill; None: there is nowhere


@contextmanager
def resumable(training: Fingerprint, ranks: Ranks) -> Iterator[Resumable]:
    """Finds what an earlier process left of the same training, and keeps what this one leaves.

    TERM and Ctrl-C let the present step end, save, and leave with 143 or 130; a second one ends
    the process in its usual way. Once the block is through, outputs written, the folder goes. Of
    several ranks the first one has the folder; all stop where one is asked to, or lost its
    launcher.

    Args:
        training: which one it is.
        ranks: the processes that train.

    Raises:
        ValueError: the same training is running here already, or the ranks' trainings differ.
    """
    parent = os.getppid()
    ranks.require_same(repr(training), "params, data, code, versions or kinds of processor")
    with StopSignals() as stop, ExitStack() as stack:

        def is_stop_requested() -> bool:
            return stop.is_requested() or is_orphan(parent)

        saver, handed = None, Resumable(Resume(is_stop_requested=is_stop_requested), None)
        folder = main_checkout() / STATES / training.name
        if ranks.is_first:
            try:
                stack.enter_context(hold_folder(folder))
            except InUseElsewhereError as error:
                _tell(f"warning: {error}; this one starts at the beginning, and can't be resumed")
            else:
                saver = _Saver(folder, training.code, ranks.world_size)
                stack.callback(saver.flush)  # before another process may have the folder
                resume = Resume(saver.load, saver.save, is_stop_requested, saver.flush)
                handed = Resumable(resume, folder)
        try:
            yield handed
        except TrainingStopped as stopped:
            if ranks.is_first:
                if saver is not None:
                    saver.flush()
                step = saver.step if saver is not None else 0
                kept = f"the same command goes on from step {step}" if step else "nothing is saved"
                _tell(f"Stopped after step {stopped.step} of {stopped.num_steps}; {kept}.")
            raise typer.Exit(stop.exit_code) from None
        # The launcher of several ranks reports a stop that came too late as one in time: the stage
        # counts as failed, and the same command shall not train anew.
        if saver is not None:
            saver.flush()
        if saver is not None and (ranks.world_size == 1 or not stop.is_requested()):
            shutil.rmtree(folder, ignore_errors=True)


class _Saver:
    """Loads and saves, and tells of what the user should know.

    States are written by a thread, one at a time, while training goes on: hashing and syncing
    those of a large model take seconds.
    """

    def __init__(self, folder: Path, code: Mapping[str, str], num_processes: int) -> None:
        self._store = StateStore(folder)
        self._folder, self._code = folder, code
        self._sums = {"processes": num_processes, "threads of each": torch.get_num_threads()}
        self.step = 0  # of the newest state that is written
        self._writer = ThreadPoolExecutor(1, "saver")
        self._writing: Future[None] | None = None

    def load(self) -> SavedState | None:
        """The newest sound state."""
        found = self._store.load()
        for problem in found.damage:
            _tell(f"warning: {problem}; that state can't be used")
        if found.saved is None:
            if found.damage:
                _tell("warning: no sound state is left; training starts at the beginning")
            return None
        self.step = found.saved.step
        _tell(f"Going on from step {self.step}, saved as {found.path}")
        if changed := list_changed(found.saved.values[_CODE], self._code):
            _tell(
                f"warning: code has changed since that state was saved: {', '.join(changed)}; "
                "what follows is computed by the code as it is now. Where that matters, delete "
                f"{self._folder} and train from the beginning"
            )
        for what, number in self._sums.items():
            if found.saved.values.get(what, number) != number:
                before = found.saved.values[what]
                _tell(
                    f"warning: {number} {what} take over from {before}, which sum in another "
                    "order: the last digits will differ from those of an undisturbed training"
                )
        return found.saved

    def save(self, saved: SavedState) -> None:
        """Begins to save a state, once the one before it is saved."""
        self.flush()
        self._writing = self._writer.submit(self._write, saved)

    def flush(self) -> None:
        """Until no state is being written."""
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _write(self, saved: SavedState) -> None:
        """Where that fails, as on a full disk, training goes on with a warning."""
        try:
            beside = {_CODE: self._code, **self._sums}
            self._store.save(saved._replace(values={**saved.values, **beside}))
            self.step = saved.step
        except OSError as error:
            _tell(f"warning: step {saved.step} can't be saved ({error}); a kill now costs more")


def _tell(message: str) -> None:
    typer.echo(message, err=True)
