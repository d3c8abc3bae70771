"""What a training tells whoever watches it."""

from transformer.training.loader import StepBatch
from transformer.training.reporting import TrainRow, ValidRow


class Observer:
    """Hears of training as it goes, and changes nothing in it; this one does nothing at all.

    Of several ranks each has its own, which hears of the same events, in the same order.
    """

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Before the step that follows `step` done ones, and before anything is compiled."""

    def on_ready(self, seconds: float) -> None:
        """All is compiled, and steps begin. Those done before took so many seconds."""

    def on_step(self, batch: StepBatch, seconds_waited: float) -> None:
        """After each step, which a GPU may still be at.

        Args:
            batch: what it was made of.
            seconds_waited: for batches, this one and those before it in this process.
        """

    def on_log(self, row: TrainRow) -> None:
        """Every `log_every_steps`; the device has done all steps."""

    def on_validation(self, row: ValidRow) -> None:
        """After each validation."""

    def on_end(self) -> None:
        """After the last step, also when training fails."""
