"""The bar that a terminal shows of a training."""

import sys
from typing import Any

from tqdm import tqdm

from transformer.monitoring.throughput import Speed
from transformer.training.reporting import TrainRow, ValidRow

# Between two lines of progress where nobody watches a terminal.
_SECONDS_BETWEEN_LINES = 30.0
# The weight of the present speed in that which the time left is told by.
_SMOOTHING = 0.7


class ProgressBar:
    """Loss, tokens a second, FLOP utilisation, time left: on standard error."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._shown: dict[str, str] = {}

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Opens the bar, at `step`."""
        interval = 0.2 if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES
        self._bar = tqdm(
            total=num_steps,
            initial=step,
            unit="step",
            file=sys.stderr,
            mininterval=interval,
            miniters=1,  # tqdm's own choice would wait for as many steps as passed before
            smoothing=_SMOOTHING,
            dynamic_ncols=True,
        )

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Moves it."""
        self._shown |= {
            "loss": f"{row.train_loss:.3f}",
            "tokens/s": f"{speed.tokens_per_second:,.0f}",
        }
        if speed.mfu is not None:
            self._shown["of peak"] = f"{speed.mfu:.0%}"
        self._move(row.step)

    def on_validation(self, row: ValidRow) -> None:
        """Shows the validation's figures from here on."""
        self._shown |= {"valid": f"{row.valid_loss:.3f}", "accuracy": f"{row.accuracy:.3f}"}
        self._move(row.step)

    def on_end(self) -> None:
        """Closes it."""
        if self._bar is not None:
            self._bar.close()

    def _move(self, step: int) -> None:
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(step - self._bar.n)
