"""The engines that run in this project's own environment."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.decoding.work import Loaded, Work
from transformer.text.special_tokens import SpecialIds

Device = Literal["cpu", "cuda"]


class Batch(NamedTuple):
    """Ids of a batch, and the most target tokens of each sentence."""

    sources: Sequence[list[int]]
    max_lengths: Sequence[int]


class _Engine:
    """What our engines share: they take lists of ids, and pad them themselves."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.special = SpecialIds(*work.special)

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Batch:
        """The batch as it is."""
        return Batch(sources, max_lengths)

    def _pad(self, sources: Sequence[list[int]]) -> npt.NDArray[np.int64]:
        shape = len(sources), max(map(len, sources))
        padded = np.full(shape, self.work.source_pad, dtype=np.int64)
        for row, ids in enumerate(sources):
            padded[row, : len(ids)] = ids
        return padded


class OnnxEngine(_Engine):
    """An exported graph, run by onnxruntime.

    Args:
        session: of the graph; runs of it may overlap.
        work: for the special tokens and the options of the search.
        num_workers: equal shares of a batch that are translated side by side, the first one by the
            caller's thread: to wake another takes as long as some of a small batch's steps.
    """

    def __init__(self, session: Any, work: Work, num_workers: int = 1) -> None:
        super().__init__(work)
        self.session = session
        self.num_workers = num_workers
        self._pool = ThreadPoolExecutor(max(1, num_workers - 1))

    def run(self, batch: Batch, beam_size: int) -> list[list[Any]]:
        """The graph's outputs (target, scores, lengths) for each share of the batch."""
        if self.num_workers == 1:
            return [self._run(batch, beam_size)]
        size = -(-len(batch.sources) // self.num_workers)
        shares = [
            Batch(batch.sources[start : start + size], batch.max_lengths[start : start + size])
            for start in range(0, len(batch.sources), size)
        ]
        others = [self._pool.submit(self._run, share, beam_size) for share in shares[1:]]
        return [self._run(shares[0], beam_size), *(other.result() for other in others)]

    def _run(self, batch: Batch, beam_size: int) -> list[Any]:
        # As `SearchOptions.graph_inputs` makes them; importing that would count as loading.
        options = self.work.options
        inputs = {
            "source": self._pad(batch.sources),
            "max_length": np.array(batch.max_lengths, dtype=np.int64),
            "length_penalty": np.array(options["length_penalty"], dtype=np.float32),
            "patience": np.array(options["patience"], dtype=np.float32),
            "beam_size": np.array(beam_size, dtype=np.int64),
            "num_best": np.array(1, dtype=np.int64),
        }
        return list(self.session.run(None, inputs))

    def read(self, result: list[list[Any]]) -> list[list[int]]:
        """Ids of the only hypothesis returned."""
        return [
            row[0, : int(length)].tolist()
            for target, _, lengths in result
            for row, length in zip(target, lengths[:, 0], strict=True)
        ]


class TorchEngine(_Engine):
    """Our PyTorch search, with a cache; or decoding as tutorials write it, without.

    Args:
        model: in evaluation mode, on the device.
        work: for the special tokens and the options of the search.
        device: of the model.
        is_tutorial: whether it decodes as tutorials do.
    """

    def __init__(self, model: Any, work: Work, device: Device, is_tutorial: bool = False) -> None:
        super().__init__(work)
        self.model = model
        self.device = device
        self.is_tutorial = is_tutorial

    def run(self, batch: Batch, beam_size: int) -> Any:
        """The best hypotheses, int64 [B, T]."""
        import torch

        from benchmarks.decoding.tutorial import beam_search, greedy
        from transformer.search.decode import search
        from transformer.search.options import SearchOptions

        options = SearchOptions(**self.work.options | {"beam_size": beam_size})
        source = torch.from_numpy(self._pad(batch.sources)).to(self.device)
        lengths = torch.tensor([len(ids) for ids in batch.sources], device=self.device)
        mask = torch.arange(source.shape[1], device=self.device) < lengths.unsqueeze(1)
        max_lengths = torch.tensor(batch.max_lengths, device=self.device)
        if self.is_tutorial and beam_size == 1:
            return greedy(self.model, source, mask, max_lengths, self.special).cpu()
        if self.is_tutorial:
            return beam_search(
                self.model,
                source,
                mask,
                max_lengths,
                self.special,
                beam_size=beam_size,
                length_penalty=options.length_penalty,
            ).cpu()
        with torch.inference_mode():
            found = search(self.model, source, mask, options, self.special, max_lengths)
            return found.target[:, 0].cpu()

    def read(self, result: Any) -> list[list[int]]:
        """Ids up to the padding."""
        return [[id for id in row if id != self.special.pad_id] for row in result.tolist()]


def load_onnx(work: Work, path: str, device: Device, num_threads: int, num_workers: int) -> Loaded:
    """An exported graph in a session; `num_threads` are those of one worker."""
    import onnxruntime

    from transformer.serving.session import open_session

    started = time.perf_counter()
    session, provider = open_session(Path(path), device, num_threads)
    seconds = time.perf_counter() - started
    assert provider == device
    return Loaded(OnnxEngine(session, work, num_workers), seconds, str(onnxruntime.__version__))


def load_torch(
    work: Work, path: str, device: Device, num_threads: int, is_tutorial: bool
) -> Loaded:
    """The weights of a checkpoint in PyTorch."""
    import torch

    from transformer.model.checkpoint import load_checkpoint

    torch.set_num_threads(num_threads)
    started = time.perf_counter()
    model, _ = load_checkpoint(Path(path).parent, device)
    seconds = time.perf_counter() - started
    return Loaded(TorchEngine(model, work, device, is_tutorial), seconds, str(torch.__version__))
