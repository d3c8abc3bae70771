"""The engines that run in this project's own environment."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.decoding.work import Loaded, Work
from transformer.text.special_tokens import SpecialIds

if TYPE_CHECKING:
    from transformer.search.options import SearchOptions

Device = Literal["cpu", "cuda"]
Ids = Sequence[list[int]]


class _Engine:
    """What our engines share: they take lists of ids, and pad and bound them themselves."""

    def __init__(self, work: Work) -> None:
        self.source_pad = work.source_pad
        self._search = work.search

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Ids:
        """The batch as it is."""
        return sources

    def _options(self, beam_size: int) -> "SearchOptions":
        # Imported in the warm-up, so that pydantic counts neither as loading nor as speed.
        from transformer.search.options import SearchOptions

        return SearchOptions(**self._search | {"beam_size": beam_size})


class OnnxEngine(_Engine):
    """An exported graph, run by onnxruntime.

    Args:
        session: of the graph; runs of it may overlap.
        work: for the source's padding and the options of the search.
        num_workers: equal shares of a batch that are translated side by side.
    """

    def __init__(self, session: Any, work: Work, num_workers: int = 1) -> None:
        super().__init__(work)
        self.session = session
        self.num_workers = num_workers
        self._pool = ThreadPoolExecutor(num_workers)

    def run(self, batch: Ids, beam_size: int) -> list[list[Any]]:
        """The graph's outputs (target, scores, lengths) for each share of the batch."""
        if self.num_workers == 1:
            return [self._run(batch, beam_size)]
        size = -(-len(batch) // self.num_workers)
        shares = [batch[start : start + size] for start in range(0, len(batch), size)]
        return list(self._pool.map(lambda share: self._run(share, beam_size), shares))

    def _run(self, batch: Ids, beam_size: int) -> list[Any]:
        inputs = self._options(beam_size).graph_inputs(batch, self.source_pad)
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
        special: of the target vocabulary.
        work: for the source's padding and the options of the search.
        device: of the model.
        is_tutorial: whether it decodes as tutorials do.
    """

    def __init__(
        self, model: Any, special: SpecialIds, work: Work, device: Device, is_tutorial: bool = False
    ) -> None:
        super().__init__(work)
        self.model = model
        self.special = special
        self.device = device
        self.is_tutorial = is_tutorial

    def run(self, batch: Ids, beam_size: int) -> Any:
        """The best hypotheses, int64 [B, T]."""
        import torch

        from benchmarks.decoding.tutorial import beam_search, greedy
        from transformer.search.decode import search

        options, special = self._options(beam_size), self.special
        inputs = options.graph_inputs(batch, self.source_pad)
        source, max_lengths = (
            torch.from_numpy(inputs[name]).to(self.device) for name in ("source", "max_length")
        )
        lengths = torch.tensor([len(ids) for ids in batch], device=self.device)
        mask = torch.arange(source.shape[1], device=self.device) < lengths.unsqueeze(1)
        if not self.is_tutorial:
            found = search(self.model, source, mask, options, special, max_lengths)
            return found.target[:, 0].cpu()
        if beam_size == 1:
            return greedy(self.model, source, mask, max_lengths, special).cpu()
        return beam_search(
            self.model,
            source,
            mask,
            max_lengths,
            special,
            beam_size=beam_size,
            length_penalty=options.length_penalty,
        ).cpu()

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
    model, info = load_checkpoint(Path(path).parent, device)
    seconds = time.perf_counter() - started
    engine = TorchEngine(model, info.target, work, device, is_tutorial)
    return Loaded(engine, seconds, str(torch.__version__))
