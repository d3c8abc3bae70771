"""Batches of a corpus of any number of pairs: seconds to the first one, waits, memory.

`benchmarks.text --plan` makes the corpus and runs this file as a process of its own.
"""

import json
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks.harness.environment import project_environment
from transformer.text.ids import SIDES, IdsMeta, SplitCounts, hash_files, load_ids
from transformer.text.pairs import blocks
from transformer.text.special_tokens import SpecialIds

BATCH_TOKENS = 25_000
# Tokens of a sentence, as `benchmarks.training` has them of news text: their logarithms' mean and
# deviation, those of the target's over the source's, the most.
LOG_SOURCE, LOG_RATIO = (3.15, 0.58), (-0.05, 0.17)
LONGEST = 128
_VALID_PAIRS = 1000
# How long batches are made while the next epoch's order is drawn.
_BESIDE_SECONDS = 60.0
_SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class PlanRun:
    """One start of a training, and its way into the next epoch."""

    num_pairs: int
    # first: the ids' bytes are held against their hashes, once; later: that is remembered.
    start: str
    # From the start of the process, Python's imports included.
    seconds_to_first_batch: float
    # Of the batches made beside the drawing of an epoch, the first ones after it included.
    mean_wait: float
    longest_wait: float
    # The most that was no part of a mapped file.
    peak_bytes: int


def measure_plan(folder: Path, num_pairs: int, seed: int) -> list[PlanRun]:
    """Writes ids of so many pairs into a new folder, and starts on them twice.

    Raises:
        ValueError: a start failed.
    """
    write_lengths(folder, num_pairs, seed)
    return [_measure(folder, num_pairs, start) for start in ("first", "later")]


def write_lengths(folder: Path, num_pairs: int, seed: int) -> None:
    """Ids with the lengths of news text, all of them zero: files of holes, which take no disk."""
    folder.mkdir()
    generator = np.random.default_rng(seed)
    counts = {}
    for split, size in (("train", num_pairs), ("valid", _VALID_PAIRS)):
        ends, longest = [0, 0], [0, 0]
        with ExitStack() as stack:
            paths = [folder / f"{split}.{side}.offsets.bin" for side in SIDES]
            files = [stack.enter_context(path.open("wb")) for path in paths]
            for file in files:
                file.write(bytes(8))
            for rows in blocks(size):
                source = generator.normal(*LOG_SOURCE, rows.stop - rows.start)
                target = source + generator.normal(*LOG_RATIO, len(source))
                for place, logs in enumerate((source, target)):
                    lengths = np.exp(logs).round().clip(2, LONGEST).astype("<i8")
                    files[place].write((ends[place] + np.cumsum(lengths)).tobytes())
                    ends[place] += int(lengths.sum())
                    longest[place] = max(longest[place], int(lengths.max()))
        for side, end in zip(SIDES, ends, strict=True):
            with (folder / f"{split}.{side}.bin").open("wb") as ids:
                ids.truncate(2 * end)
        counts[split] = SplitCounts(size, 0, *ends, *longest)
    special, hashes = SpecialIds(0, 1, 2, 3), hash_files(folder)
    IdsMeta(8000, 8000, special, special, True, "<u2", LONGEST, "synthetic", counts, hashes).write(
        folder
    )


def _measure(folder: Path, num_pairs: int, start: str) -> PlanRun:
    command = [sys.executable, "-m", "benchmarks.batch_plan", str(folder), str(_BESIDE_SECONDS)]
    peak = 0
    with subprocess.Popen(command, env=project_environment(), stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            with suppress(psutil.Error):  # it may just have ended
                found = psutil.Process(process.pid).memory_info()
                peak = max(peak, found.rss - getattr(found, "shared", 0))
            time.sleep(_SAMPLE_SECONDS)
        assert process.stdout is not None
        answer = process.stdout.read()
    if process.returncode:
        raise ValueError(f"the plan of {num_pairs} pairs: status {process.returncode}; see above")
    return PlanRun(num_pairs, start, **json.loads(answer), peak_bytes=peak)


def _make_batches(folder: Path, beside_seconds: float) -> dict[str, float]:
    # As `Trainer` begins; of `PlanRun` what is seconds. It alone needs torch.
    from transformer.training.batching import BatchPlan
    from transformer.training.distributed import SINGLE_PROCESS
    from transformer.training.loader import StepBatches
    from transformer.training.problems import check_lengths

    ids = load_ids(folder, folder / "checked.json")
    check_lengths(ids, LONGEST)
    plan = BatchPlan(ids.train.source_lengths, ids.train.target_lengths, BATCH_TOKENS, seed=1)
    batches = StepBatches(plan, ids.train, ids.meta, 1, SINGLE_PROCESS)
    batches.make(0)
    to_first = time.time() - psutil.Process().create_time()
    waits = []

    def make(step: int) -> None:
        before = time.perf_counter()
        batches.make(step)
        waits.append(time.perf_counter() - before)

    middle, begin = plan.num_batches // 2, time.perf_counter()
    while time.perf_counter() - begin < beside_seconds:
        make(middle + len(waits) % (plan.num_batches - middle))
    for step in range(20):
        make(plan.num_batches + step)
    return {
        "seconds_to_first_batch": to_first,
        "mean_wait": float(np.mean(waits)),
        "longest_wait": max(waits),
    }


if __name__ == "__main__":
    print(json.dumps(_make_batches(Path(sys.argv[1]), float(sys.argv[2]))))
