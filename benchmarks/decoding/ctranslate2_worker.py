"""A worker that translates with CTranslate2, in an environment that holds no more than that.

python -m benchmarks.decoding.ctranslate2_worker MODEL COMPUTE_TYPE WORKERS THREADS LISTS WORK

LISTS is `listed` to look for translations among short-lists, else `unlisted`.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.decoding.ctranslate2_names import TokenNames
from benchmarks.decoding.work import Loaded, Work, serve


class Batch(NamedTuple):
    """One batch: source tokens by name, and the most target tokens of its longest limit."""

    sources: list[list[str]]
    max_length: int


class CTranslate2Engine:
    """CTranslate2's `translate_batch`.

    Args:
        translator: a `ctranslate2.Translator`.
        names: what the vocabularies call the ids.
        length_penalty: exponent of its own penalty, length ** exponent.
        num_workers: batches that it translates side by side; a batch is cut into so many.
        is_listed: whether it uses its vocabulary mapping.
    """

    def __init__(
        self,
        translator: Any,
        names: TokenNames,
        length_penalty: float,
        num_workers: int,
        is_listed: bool,
    ) -> None:
        self.translator = translator
        self.names = names
        self.length_penalty = length_penalty
        self.num_workers = num_workers
        self.is_listed = is_listed

    def prepare(self, sources: Sequence[list[int]], max_lengths: Sequence[int]) -> Batch:
        """Token names for ids; one limit for the batch, since it takes no more."""
        return Batch([self.names.source_names(ids) for ids in sources], max(max_lengths))

    def run(self, batch: Batch, beam_size: int) -> Any:
        """One call; with several workers on equal shares of the batch."""
        share = -(-len(batch.sources) // self.num_workers)
        return self.translator.translate_batch(
            batch.sources,
            max_batch_size=share if self.num_workers > 1 else 0,
            beam_size=beam_size,
            length_penalty=self.length_penalty,
            max_decoding_length=batch.max_length,
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self.is_listed,
            return_end_token=True,
        )

    def read(self, result: Any) -> list[list[int]]:
        """Ids of its best hypotheses."""
        return [self.names.target_ids(one.hypotheses[0]) for one in result]


def main(
    model: str, compute_type: str, num_workers: int, num_threads: int, is_listed: bool, work: Work
) -> None:
    """Serves a converted model."""

    def load() -> Loaded:
        import ctranslate2

        started = time.perf_counter()
        translator = ctranslate2.Translator(
            model,
            device="cpu",
            compute_type=compute_type,
            inter_threads=num_workers,
            intra_threads=num_threads,
        )
        seconds = time.perf_counter() - started
        names = TokenNames.load(Path(model).parent)
        engine = CTranslate2Engine(translator, names, work.length_penalty, num_workers, is_listed)
        return Loaded(engine, seconds, ctranslate2.__version__)

    serve(load, work)


if __name__ == "__main__":
    main(
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        int(sys.argv[4]),
        sys.argv[5] == "listed",
        Work.load(Path(sys.argv[6])),
    )
