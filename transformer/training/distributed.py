"""Several processes that train one model together, on one machine or on many.

Each process, a rank, holds the whole model and takes its share of every step's batch; gradients
are added up over all of them while the last backward pass runs, so that all models stay equal to
the last bit. `SINGLE_PROCESS` is a training of one, for which everything here costs nothing.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from transformer.text.pairs import Integers
from transformer.training.batching import split_batch
from transformer.training.state import SavedState

_LOCAL = ("LOCAL_RANK", "LOCAL_WORLD_SIZE")


class PeerLostError(ValueError):
    """Another process of the same training ended, or can't be reached."""


@dataclass(frozen=True)
class Ranks:
    """This process's place among those of one training, and what it exchanges with them.

    Those of its methods that speak of all ranks are called by all of them, in the same order.
    """

    rank: int = 0
    world_size: int = 1  # how many there are
    local_rank: int = 0  # among those on this machine
    local_world_size: int = 1
    store: Any = field(default=None, repr=False)  # shared; works while one of them is failing

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes, reports, tracks."""
        return self.rank == 0

    def shard(self, indices: Integers, num_parts: int) -> list[tuple[int, Integers]]:
        """This rank's share of a step's batch: parts by their number within the step.

        The batch is cut into `num_parts`, or the next multiple of the number of ranks, and part i
        goes to rank i modulo that number. A batch of few sentences leaves a rank without any.
        """
        num_parts = -(-num_parts // self.world_size) * self.world_size
        parts = enumerate(split_batch(indices, num_parts))
        return [(i, part) for i, part in parts if i % self.world_size == self.rank]

    def device(self, device: torch.device) -> torch.device:
        """The device of this rank, a GPU by its number: of those of a machine, each takes its own.

        A rank that sees a single GPU takes that one: launchers may show each rank another.

        Raises:
            ValueError: the machine has fewer than there are ranks on it.
        """
        if device.type != "cuda":
            return device
        num_gpus = torch.cuda.device_count()
        index = self.local_rank if num_gpus > 1 else 0
        if num_gpus < self.local_world_size and not (num_gpus == 1 and self._is_first_on_gpu()):
            raise ValueError(
                f"{self.local_world_size} processes train on this machine, but it has "
                f"{num_gpus} GPUs, and each needs its own; lower "
                "train.num_processes (torchrun's --nproc-per-node), or set train.device = 'cpu'"
            )
        torch.cuda.set_device(index)
        return torch.device("cuda", index)

    def _is_first_on_gpu(self) -> bool:
        """Whether no other rank took the one GPU that this one sees."""
        key = f"rank on GPU {torch.cuda.get_device_properties(0).uuid}"
        holder = self.store.compare_set(key, "", str(self.rank))
        return bool(holder == str(self.rank).encode())

    def gradients(self, model: nn.Module) -> "Gradients":
        """Takes the gradients of a model's parameters into its care."""
        return Gradients(model, self)

    def any(self, flag: bool) -> bool:
        """Whether a flag is set on any rank. Waits for all ranks' processes, for no GPU."""
        return self.maximum([float(flag)]) != [0.0]

    def maximum(self, values: Sequence[float]) -> list[float]:
        """The highest of each value over all ranks."""
        if self.world_size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        with _losing_peers():
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return [float(value) for value in tensor]

    def all_reduce(self, tensor: Tensor) -> None:
        """Makes a tensor the sum over all ranks, in place."""
        if self.world_size > 1:
            with _losing_peers():
                dist.all_reduce(tensor)

    def broadcast(self, saved: SavedState | None) -> SavedState:
        """Rank 0's state on every rank. The others hand in None."""
        if self.world_size == 1:
            assert saved is not None
            return saved
        header: list[Any] = [None]
        if saved is not None:
            groups = {"": saved.mutable, **saved.immutable}
            shapes = {
                group: {name: (value.shape, value.dtype) for name, value in tensors.items()}
                for group, tensors in groups.items()
            }
            header = [(saved.step, dict(saved.values), shapes)]
        with _losing_peers():
            dist.broadcast_object_list(header, src=0, device=torch.device("cpu"))
            step, values, shapes = header[0]
            if saved is None:
                groups = {
                    group: {
                        name: torch.empty(shape, dtype=dtype)
                        for name, (shape, dtype) in forms.items()
                    }
                    for group, forms in shapes.items()
                }
            for tensors in groups.values():
                for tensor in tensors.values():
                    dist.broadcast(tensor.detach(), src=0)
        mutable = groups.pop("")
        return SavedState(step, values, mutable, groups)

    def require_same(self, value: str, what: str) -> None:
        """Makes sure that all ranks have the same value.

        Raises:
            ValueError: on rank 0, naming `what` and the ranks that differ from it.
            PeerLostError: on the others, once rank 0 has gone.
        """
        if self.world_size == 1:
            return
        values: list[Any] = [None] * self.world_size
        with _losing_peers():
            dist.all_gather_object(values, value)
        others = [rank for rank, theirs in enumerate(values) if theirs != values[0]]
        if others and self.is_first:
            raise ValueError(
                f"{what} differ between the processes of this training: rank "
                f"{', '.join(map(str, others))} from rank 0; give every machine the same"
            )
        self.barrier()

    def barrier(self) -> None:
        """Until all ranks have come here."""
        self.any(False)

    def is_first_to_fail(self) -> bool:
        """Whether no other rank has said the same before; each says it once, by itself."""
        if self.store is None:
            return True
        try:
            return bool(self.store.add("failed", 1) == 1)
        except RuntimeError:  # the rank that keeps the store has gone, and told why
            return False


SINGLE_PROCESS = Ranks()


@contextmanager
def connected() -> Iterator[Ranks]:
    """Joins the training that the environment tells of; leaves it at the end.

    It reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and where a launcher sets them, as
    torchrun does, LOCAL_RANK and LOCAL_WORLD_SIZE. Without these, ranks are on one machine that
    give it the same name.

    Raises:
        ValueError: a variable is missing or no number, or the ranks do not find each other.
    """
    rank, world_size = _variable("RANK"), _variable("WORLD_SIZE")
    local = {name: _variable(name) for name in _LOCAL if name in os.environ}
    backend = "gloo"
    if torch.cuda.is_available() and dist.is_nccl_available():
        backend = "cpu:gloo,cuda:nccl"
    machines: list[Any] = [None] * world_size
    try:
        store, _, _ = next(rendezvous("env://", rank, world_size))
        dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)
        dist.all_gather_object(machines, socket.gethostname())
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"rank {rank} can't join the other processes: {error}") from error
    here = [peer for peer, machine in enumerate(machines) if machine == machines[rank]]
    local_rank = local.get("LOCAL_RANK", here.index(rank))
    local_world_size = local.get("LOCAL_WORLD_SIZE", len(here))
    yield Ranks(rank, world_size, local_rank, local_world_size, store)
    # Not after an error: it would wait for those that are still at work.
    dist.destroy_process_group()


class Gradients:
    """The gradients of a model's parameters, summed over the parts of a step and over all ranks."""

    def __init__(self, model: nn.Module, ranks: Ranks) -> None:
        self._ranks, self._parameters = ranks, list(model.parameters())
        self._shared: DistributedDataParallel | None = None
        if ranks.world_size > 1:
            self._shared = DistributedDataParallel(_Call(model), gradient_as_bucket_view=True)
            # From the second pass on, it exchanges gradients in the order in which the first one
            # had them ready, and with three ranks or more that decides how sums are rounded. After
            # these two all steps have one order, so that a resumed training gives the same bits.
            for _ in range(2):
                self.backward([])
            model.zero_grad(set_to_none=True)

    def backward(self, losses: Sequence[Callable[[], Tensor]]) -> Tensor:
        """Adds the gradients of a step's losses to those that the parameters hold.

        Args:
            losses: of this rank's parts, called one after the other; without any it adds zeros.

        Returns:
            The sum of the losses over all ranks.

        Raises:
            PeerLostError: another rank has gone.
        """
        shared, world_size = self._shared, self._ranks.world_size
        total = torch.zeros((), device=self._parameters[0].device)
        if shared is not None and not losses:
            losses = [self._zero]
        for number, loss in enumerate(losses, 1):
            is_exchanged = number == len(losses)
            with nullcontext() if shared is None or is_exchanged else shared.no_sync():
                value = loss() if shared is None else shared(loss)
                with nullcontext() if shared is None else _losing_peers():
                    (value * world_size).backward()  # of which the mean over all ranks is taken
            total += value.detach()
        self._ranks.all_reduce(total)
        return total

    def _zero(self) -> Tensor:
        """A loss to which each parameter contributes nothing."""
        return torch.stack([parameter.sum() for parameter in self._parameters]).sum() * 0


class _Call(nn.Module):
    """A model with losses for its outputs: DistributedDataParallel begins a pass with a call.

    It has the model's parameters alone: buffers would be handed around at each call.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.shared = nn.ParameterList(model.parameters())

    def forward(self, loss: Callable[[], Tensor]) -> Tensor:
        return loss()


@contextmanager
def _losing_peers() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = str(error).split(". ")[0]
        raise PeerLostError(
            f"another process of this training ended, or can't be reached any more ({reason}); "
            "the same command goes on from the last state that was saved"
        ) from error


def _variable(name: str) -> int:
    text = os.environ.get(name, "")
    if not text.isdigit():
        raise ValueError(
            f"the environment variable {name} is {text!r}, where a training of several processes "
            "needs a whole number; torchrun sets all such variables"
        )
    return int(text)
