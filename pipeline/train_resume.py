"""A training that can be killed, and that the same command goes on with."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import typer

from pipeline.checkout import main_checkout
from pipeline.resume_folder import InUseElsewhereError, hold_folder
from pipeline.stop_signals import StopSignals
from pipeline.train_identity import training_hash
from transformer.model.config import ModelConfig
from transformer.training.capture import SavedState
from transformer.training.config import TrainConfig
from transformer.training.state_store import StateStore
from transformer.training.stopping import TrainingStopped
from transformer.training.trainer import Resume

# Ignored by git and DVC, and outside the stage's outs, which DVC deletes before the stage runs.
# In the main checkout, since an experiment's copy under .dvc/tmp/exps is gone after a kill.
STATES = Path(".state/train")


class Resumable(NamedTuple):
    """What a training that can be killed is handed."""

    resume: Resume
    folder: Path | None  # for what else outlives a kill; None: there is nowhere


@contextmanager
def resumable(config: TrainConfig, model_config: ModelConfig, ids: Path) -> Iterator[Resumable]:
    """Finds what an earlier process left of the same training, and keeps what this one leaves.

    TERM and Ctrl-C let the present step end, save, and leave with 143 or 130; a second one ends
    the process in its usual way. Once the block is through, outputs written, the folder goes.

    Raises:
        ValueError: the same training is running here already.
    """
    folder = main_checkout() / STATES / training_hash(config, model_config, ids)
    with StopSignals() as stop, ExitStack() as stack:
        saver, handed = None, Resumable(Resume(is_stop_requested=stop.is_requested), None)
        try:
            stack.enter_context(hold_folder(folder))
        except InUseElsewhereError as error:
            _tell(f"warning: {error}; this one starts at the beginning, and can't be resumed")
        else:
            saver = _Saver(folder)
            handed = Resumable(Resume(saver.load, saver.save, stop.is_requested), folder)
        try:
            yield handed
        except TrainingStopped as stopped:
            step = saver.step if saver is not None else 0
            kept = f"the same command goes on from step {step}" if step else "nothing is saved"
            _tell(f"Stopped after step {stopped.step} of {stopped.num_steps}; {kept}.")
            raise typer.Exit(stop.exit_code) from None
        if saver is not None:
            shutil.rmtree(folder, ignore_errors=True)


class _Saver:
    """Loads and saves, and tells of what the user should know."""

    def __init__(self, folder: Path) -> None:
        self._store = StateStore(folder)
        self.step = 0  # of the newest state

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
        return found.saved

    def save(self, saved: SavedState) -> None:
        """Saves a state; where that fails, as on a full disk, training goes on with a warning."""
        try:
            self._store.save(saved)
            self.step = saved.step
        except OSError as error:
            _tell(f"warning: step {saved.step} can't be saved ({error}); a kill now costs more")


def _tell(message: str) -> None:
    typer.echo(message, err=True)
