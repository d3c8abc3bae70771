"""The end of a training before its time, and what it can go on from."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer.training.state import SavedState


@dataclass(frozen=True)
class Resume:
    """How a training leaves behind what it can go on from, and goes on from what was left."""

    # What was left of the same config, model, data and code. A call, so that nothing else holds
    # on to it: it may be several times as large as the model. Of several ranks the first is asked.
    load: Callable[[], SavedState | None] = lambda: None
    save: Callable[[SavedState], None] | None = None  # called between two steps; need not wait
    is_stop_requested: Callable[[], bool] = lambda: False  # asked between two steps
    flush: Callable[[], None] = lambda: None  # returns once what was to be saved is


class TrainingStopped(Exception):  # noqa: N818 - nothing went wrong
    """Training was asked to stop, and did so between two steps."""

    def __init__(self, step: int, num_steps: int) -> None:
        self.step, self.num_steps = step, num_steps
        super().__init__(f"stopped after step {step} of {num_steps}")
