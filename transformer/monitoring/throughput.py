"""How fast training goes, and what of the machine it uses."""

import resource
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch

from transformer.model.config import ModelConfig
from transformer.monitoring.flops import training_flops
from transformer.text.ids import Ids
from transformer.training.distributed import Ranks
from transformer.training.loader import StepBatch
from transformer.training.observer import Observer
from transformer.training.reporting import TrainRow, ValidRow


class Speed(NamedTuple):
    """Timings, which differ from run to run: never for a file that DVC hashes."""

    tokens_per_second: float  # real source and target tokens of all ranks, training alone
    seconds: float  # of training and validation so far, in all processes that it took
    padding_share: float  # of the positions in this rank's batches
    # What the model's own operations take of the best that the devices can do; None: not measured.
    mfu: float | None
    peak_memory_bytes: int  # of the rank that needed most; a CPU's is the whole process's
    seconds_waiting_for_data: float  # since the row before, of the rank that waited longest

    def figures(self) -> dict[str, float]:
        """By name, but for what was not measured."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Reporter(Protocol):
    """Hears of training as it goes, with its speed."""

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Before the step that follows `step` done ones."""

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        """Every `log_every_steps`."""

    def on_validation(self, row: ValidRow) -> None:
        """After each validation."""

    def on_end(self) -> None:
        """After the last step, also when training fails."""


class Meter(Observer):
    """Counts what passes between two readings; the time of validations is left out."""

    def __init__(
        self,
        model_config: ModelConfig,
        ids: Ids,
        device: torch.device,
        ranks: Ranks,
        peak_flops: float | None = None,
        reporters: Sequence[Reporter] = (),
    ) -> None:
        """Starts the clock.

        Args:
            model_config: of the model that is trained.
            ids: what it is trained on.
            device: whose memory counts.
            ranks: who take part; each has a meter, and they are read at the same steps.
            peak_flops: FLOP/s that this rank's device reaches at best, as `measure_product_peak`
                tells; None if nobody measured.
            reporters: hear of the training, with its speed.
        """
        self._model_config, self._target_vocab_size = model_config, ids.meta.target_vocab_size
        self._pairs, self._device, self._ranks = ids.train, device, ranks
        self._peak_flops, self._reporters = peak_flops, reporters
        self.on_ready(0.0)

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        """Hands it on."""
        for reporter in self._reporters:
            reporter.on_start(num_steps, num_parameters, step)

    def on_ready(self, seconds: float) -> None:
        """Starts the clocks: as if steps that were lost had never been."""
        self._begin = time.monotonic() - seconds
        self._waited = self._waited_before = 0.0
        self.restart()

    def on_step(self, batch: StepBatch, seconds_waited: float) -> None:
        """Counts the step."""
        source = self._pairs.source_lengths[batch.indices]
        target = self._pairs.target_lengths[batch.indices]
        self._num_tokens += int(source.sum() + target.sum())
        self._flops += training_flops(self._model_config, self._target_vocab_size, source, target)
        self._num_real += batch.num_tokens
        self._num_slots += batch.num_slots
        self._waited = seconds_waited

    def on_log(self, row: TrainRow) -> None:
        """Hands the row on with the speed since the one before."""
        speed = self.read()
        for reporter in self._reporters:
            reporter.on_log(row, speed)
        self.restart()

    def on_validation(self, row: ValidRow) -> None:
        """Hands it on."""
        for reporter in self._reporters:
            reporter.on_validation(row)
        self.restart()

    def on_end(self) -> None:
        """Hands it on."""
        for reporter in self._reporters:
            reporter.on_end()

    def restart(self) -> None:
        """Forgets what was counted, and starts the clock of the next reading."""
        self._start = time.monotonic()
        self._waited_before = self._waited
        self._num_tokens = self._flops = 0.0
        self._num_real = self._num_slots = 0

    def read(self) -> Speed:
        """The figures since the restart, once the device has done all steps. Each rank calls it."""
        now = time.monotonic()
        seconds = max(now - self._start, 1e-9)
        memory, waited = self._ranks.maximum(
            [peak_memory_bytes(self._device), self._waited - self._waited_before]
        )
        utilization = None
        if self._peak_flops is not None:
            utilization = self._flops / seconds / (self._peak_flops * self._ranks.world_size)
        return Speed(
            tokens_per_second=self._num_tokens / seconds,
            seconds=now - self._begin,
            padding_share=1 - self._num_real / max(self._num_slots, 1),
            mfu=utilization,
            peak_memory_bytes=int(memory),
            seconds_waiting_for_data=waited,
        )


def peak_memory_bytes(device: torch.device) -> int:
    """The most that was in use: of a GPU by PyTorch, on a CPU by the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024
