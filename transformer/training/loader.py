"""The batches of a training, one optimizer step after the other, ahead of a GPU."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import NamedTuple

import torch

from transformer.text.ids import IdsMeta
from transformer.text.pairs import Integers, PairDataset
from transformer.training.batching import Batch, EpochBatches, make_batch
from transformer.training.distributed import Ranks
from transformer.training.sentence_batches import Plan

# How many steps' batches wait for the device. On a CPU the thread that makes them would take the
# time from the model's: docs/training.md has the measurement.
_NUM_AHEAD = {"cuda": 3}


class StepBatch(NamedTuple):
    """What one optimizer step is made of."""

    indices: Integers  # the sentences of all ranks
    parts: list[tuple[int, Batch]]  # this rank's, by their number within the step; may be none
    num_tokens: int  # real ones in `parts`, source and target
    num_slots: int  # positions in `parts`, real or not
    num_target_tokens: int  # real ones of all ranks

    def to(self, device: torch.device) -> "StepBatch":
        """The step with its batches on `device`; see `Batch.to`."""
        return self._replace(parts=[(part, batch.to(device)) for part, batch in self.parts])

    def pinned(self) -> "StepBatch":
        """The step with its batches in pinned memory."""
        return self._replace(parts=[(part, batch.pinned()) for part, batch in self.parts])


class StepBatches:
    """The plan of batches, by the step that they are for: the same in every process.

    From the middle of an epoch on, a thread draws the next one's order.
    """

    def __init__(
        self,
        plan: Plan,
        pairs: PairDataset | Callable[[int], PairDataset],
        meta: IdsMeta,
        num_parts: int,
        ranks: Ranks,
    ) -> None:
        """Cuts each batch of `plan` for `ranks`, as `Ranks.shard` does with `num_parts`.

        `pairs` are those of every epoch, or give the pairs of an epoch, counted from 0.
        """
        self._plan, self._meta = plan, meta
        self._pairs_of = pairs if callable(pairs) else lambda epoch: pairs
        self._num_parts, self._ranks = num_parts, ranks
        self._thread = ThreadPoolExecutor(1, "epochs")
        # The one that is asked for, and the next.
        self._epochs: dict[int, Future[tuple[EpochBatches, PairDataset]]] = {}

    def indices(self, step: int) -> Integers:
        """The sentences of the step that follows `step` done ones."""
        return self._find(step)[0]

    def make(self, step: int) -> StepBatch:
        """This rank's batches of the step that follows `step` done ones, on the CPU."""
        (indices, pairs), meta = self._find(step), self._meta
        parts, num_tokens = [], 0
        for part, sentences in self._ranks.shard(indices, self._num_parts):
            ids = meta.source.pad_id, meta.target.pad_id, meta.target.bos_id
            parts.append((part, make_batch(pairs, sentences, *ids)))
            num_tokens += int(pairs.source_lengths[sentences].sum())
            num_tokens += int(pairs.target_lengths[sentences].sum())
        num_slots = sum(batch.source.numel() + batch.target.numel() for _, batch in parts)
        num_target_tokens = int(pairs.target_lengths[indices].sum())
        return StepBatch(indices, parts, num_tokens, num_slots, num_target_tokens)

    def _find(self, step: int) -> tuple[Integers, PairDataset]:
        epoch, position = divmod(step, self._plan.num_batches)
        if epoch not in self._epochs:
            self._epochs.clear()  # first, for the sake of memory
            self._begin(epoch)
        batches, pairs = self._epochs[epoch].result()
        self._epochs.pop(epoch - 1, None)
        if 2 * position >= self._plan.num_batches and epoch + 1 not in self._epochs:
            self._begin(epoch + 1)
        return batches[position], pairs

    def _begin(self, epoch: int) -> None:
        self._epochs[epoch] = self._thread.submit(self._draw, epoch)

    def _draw(self, epoch: int) -> tuple[EpochBatches, PairDataset]:
        return self._plan.epoch(epoch), self._pairs_of(epoch)


class Loader:
    """Hands out the batches of one step after the other, on the device."""

    def __init__(self, made: Iterator[StepBatch], device: torch.device) -> None:
        self._made, self._device = made, device
        self.seconds_waited = 0.0  # by `take`

    def take(self) -> StepBatch:
        """The next step's."""
        start = time.perf_counter()
        made = next(self._made)
        self.seconds_waited += time.perf_counter() - start
        return made.to(self._device)


@contextmanager
def loading(batches: StepBatches, device: torch.device, first_step: int) -> Iterator[Loader]:
    """A loader for `device`, from the step that follows `first_step` done ones.

    Which batches it hands out follows from the number of the step alone, so those that lie ready
    when training ends are no loss: whoever goes on from a step begins with its batches.
    """
    num_ahead = _NUM_AHEAD.get(device.type, 0)
    if num_ahead == 0:
        yield Loader(map(batches.make, count(first_step)), device)
        return

    def make(step: int) -> StepBatch:
        made = batches.make(step)
        return made.pinned() if device.type == "cuda" else made

    choose_gpu = partial(torch.cuda.set_device, device) if device.type == "cuda" else None
    pool = ThreadPoolExecutor(1, "loader", choose_gpu)
    try:
        yield Loader(_make_ahead(pool, make, first_step, num_ahead), device)
    finally:
        pool.shutdown(cancel_futures=True)


def _make_ahead(
    pool: Executor, make: Callable[[int], StepBatch], first_step: int, num_ahead: int
) -> Iterator[StepBatch]:
    """The batches of each step, those of the next `num_ahead` steps under way meanwhile."""
    first_behind = first_step + num_ahead
    ready = deque(pool.submit(make, step) for step in range(first_step, first_behind))
    for step in count(first_behind):
        ready.append(pool.submit(make, step))
        yield ready.popleft().result()
