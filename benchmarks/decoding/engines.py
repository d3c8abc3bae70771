"""The engines that run in this project's own environment."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.decoding.work import Loaded, Ranking

Device = Literal["cpu", "cuda"]


class Marks(NamedTuple):
    """Marks that a search needs: the source's padding, the target's padding, start and end."""

    source_pad: int
    pad: int
    bos: int
    eos: int


class Batch(NamedTuple):
    """Ids of a batch, and the most target tokens of each sentence."""

    sources: Sequence[list[int]]
    max_lengths: Sequence[int]


class _Engine:
    """What our engines share: they take lists of ids, and pad them themselves."""

    def __init__(self, marks: Marks, ranking: Ranking) -> None:
        self.marks = marks
        self.ranking = ranking

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Batch:
        """The batch as it is."""
        return Batch(sources, max_lengths)

    def _pad(self, sources: Sequence[list[int]]) -> npt.NDArray[np.int64]:
        shape = len(sources), max(map(len, sources))
        padded = np.full(shape, self.marks.source_pad, dtype=np.int64)
        for row, ids in enumerate(sources):
            padded[row, : len(ids)] = ids
        return padded


class OnnxEngine(_Engine):
    """An exported graph, run by onnxruntime.

    Args:
        session: of the graph; runs of it may overlap.
        marks: of the vocabularies.
        ranking: the length penalty and the patience.
        num_workers: equal shares of a batch that are translated side by side.
    """

    def __init__(self, session: Any, marks: Marks, ranking: Ranking, num_workers: int = 1) -> None:
        super().__init__(marks, ranking)
        self.session = session
        self.num_workers = num_workers
        self._pool = ThreadPoolExecutor(num_workers)

    def run(self, batch: Batch, beam_size: int) -> list[list[Any]]:
        """The graph's outputs (target, scores, lengths) for each share of the batch."""
        if self.num_workers == 1:
            return [self._run(batch, beam_size)]
        size = -(-len(batch.sources) // self.num_workers)
        shares = [
            Batch(batch.sources[start : start + size], batch.max_lengths[start : start + size])
            for start in range(0, len(batch.sources), size)
        ]
        return list(self._pool.map(lambda share: self._run(share, beam_size), shares))

    def _run(self, batch: Batch, beam_size: int) -> list[Any]:
        inputs = {
            "source": self._pad(batch.sources),
            "max_length": np.array(batch.max_lengths, dtype=np.int64),
            "length_penalty": np.array(self.ranking.length_penalty, dtype=np.float32),
            "patience": np.array(self.ranking.patience, dtype=np.float32),
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


class _TorchEngine(_Engine):
    def __init__(self, model: Any, marks: Marks, ranking: Ranking, device: Device) -> None:
        super().__init__(marks, ranking)
        self.model = model
        self.device = device

    def _tensors(self, batch: Batch) -> tuple[Any, Any, Any]:
        import torch

        source = torch.from_numpy(self._pad(batch.sources)).to(self.device)
        lengths = torch.tensor([len(ids) for ids in batch.sources], device=self.device)
        mask = torch.arange(source.shape[1], device=self.device) < lengths.unsqueeze(1)
        return source, mask, torch.tensor(batch.max_lengths, device=self.device)

    def read(self, result: Any) -> list[list[int]]:
        """Ids up to the padding."""
        return [[id for id in row if id != self.marks.pad] for row in result.tolist()]


class SearchEngine(_TorchEngine):
    """Our PyTorch search, with a cache."""

    def run(self, batch: Batch, beam_size: int) -> Any:
        """The best hypotheses, int64 [B, T]."""
        import torch

        from transformer.search.beam import SpecialIds
        from transformer.search.decode import search

        source, mask, max_lengths = self._tensors(batch)
        with torch.inference_mode():
            found = search(
                self.model,
                source,
                mask,
                beam_size=beam_size,
                length_penalty=self.ranking.length_penalty,
                patience=self.ranking.patience,
                max_lengths=max_lengths,
                num_best=1,
                special=SpecialIds(self.marks.pad, self.marks.bos, self.marks.eos),
            )
            return found.target[:, 0].cpu()


class TutorialEngine(_TorchEngine):
    """Decoding as tutorials write it, without a cache."""

    def run(self, batch: Batch, beam_size: int) -> Any:
        """The best hypotheses, int64 [B, T]."""
        from benchmarks.decoding.tutorial import beam_search, greedy
        from transformer.search.beam import SpecialIds

        special = SpecialIds(self.marks.pad, self.marks.bos, self.marks.eos)
        source, mask, max_lengths = self._tensors(batch)
        if beam_size == 1:
            return greedy(self.model, source, mask, max_lengths, special).cpu()
        return beam_search(
            self.model,
            source,
            mask,
            max_lengths,
            special,
            beam_size=beam_size,
            length_penalty=self.ranking.length_penalty,
        ).cpu()


def load_onnx(
    graph: Path,
    marks: Marks,
    ranking: Ranking,
    num_threads: int,
    device: Device,
    num_workers: int,
) -> Loaded:
    """An exported graph in a session; `num_threads` are those of one worker."""
    import onnxruntime

    from transformer.serving.session import open_session

    started = time.perf_counter()
    session, provider = open_session(graph, device, num_threads)
    seconds = time.perf_counter() - started
    assert provider == device
    return Loaded(
        OnnxEngine(session, marks, ranking, num_workers),
        seconds,
        str(onnxruntime.__version__),
    )


def load_torch(
    is_search: bool,
    checkpoint: Path,
    marks: Marks,
    ranking: Ranking,
    num_threads: int,
    device: Device,
) -> Loaded:
    """A checkpoint in PyTorch, with our search or else as tutorials decode."""
    import torch

    from transformer.model.checkpoint import load_checkpoint

    torch.set_num_threads(num_threads)
    started = time.perf_counter()
    model, _ = load_checkpoint(checkpoint, device)
    seconds = time.perf_counter() - started
    engine = SearchEngine if is_search else TutorialEngine
    return Loaded(engine(model, marks, ranking, device), seconds, str(torch.__version__))
