"""How fast training goes, and what of the machine it uses."""

import resource
import sys
import time

import torch

from transformer.model.config import ModelConfig
from transformer.monitoring.flops import training_flops
from transformer.training.batching import Pairs
from transformer.training.distributed import Ranks
from transformer.training.loader import Loader, StepBatch
from transformer.training.reporting import Speed


class Meter:
    """Counts what passes between two readings; the time of validations is left out."""

    def __init__(
        self,
        model_config: ModelConfig,
        target_vocab_size: int,
        pairs: Pairs,
        device: torch.device,
        ranks: Ranks,
        peak_flops: float | None,
    ) -> None:
        """Starts the clock.

        Args:
            model_config: of the model that is trained.
            target_vocab_size: likewise.
            pairs: what it is trained on.
            device: whose memory counts.
            ranks: who take part; each calls `read` at the same steps.
            peak_flops: FLOP/s that this rank's device reaches at best; None if nobody measured.
        """
        self._model_config, self._target_vocab_size = model_config, target_vocab_size
        self._pairs, self._device, self._ranks = pairs, device, ranks
        self._peak_flops = peak_flops
        self._waited = 0.0
        self.restart()

    def restart(self) -> None:
        """Forgets what was counted, and starts the clock anew."""
        self._start = time.monotonic()
        self._num_tokens = self._flops = 0.0
        self._num_real = self._num_slots = 0

    def add(self, batch: StepBatch) -> None:
        """Counts a step that is done."""
        source = self._pairs.source_lengths[batch.indices]
        target = self._pairs.target_lengths[batch.indices]
        self._num_tokens += int(source.sum() + target.sum())
        self._flops += training_flops(self._model_config, self._target_vocab_size, source, target)
        self._num_real += batch.num_tokens
        self._num_slots += batch.num_slots

    def read(self, loader: Loader, total_seconds: float) -> Speed:
        """The figures since the start, once the device has done all steps."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        waited, self._waited = loader.seconds_waited - self._waited, loader.seconds_waited
        memory, waited = self._ranks.maximum([peak_memory_bytes(self._device), waited])
        utilization = None
        if self._peak_flops is not None:
            utilization = self._flops / seconds / (self._peak_flops * self._ranks.world_size)
        return Speed(
            tokens_per_second=self._num_tokens / seconds,
            seconds=total_seconds,
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
