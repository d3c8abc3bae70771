"""The text stages on a large corpus: seconds, memory, use of the cores.

python -m benchmarks.text --help
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import psutil
import typer

from benchmarks import text_peers
from benchmarks.batch_plan import BATCH_TOKENS, PlanRun, measure_plan
from benchmarks.harness import options
from benchmarks.harness.environment import project_environment
from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import numbers, tell
from benchmarks.harness.report import (
    Verdict,
    judge,
    markdown_table,
    save_page,
    write_page,
    write_record,
)
from transformer.machine import count_cores
from transformer.text.corpus import PARTS, Pair, part_path, write_pairs
from transformer.text.manifest import write_hashes
from transformer.text.sources.lines import decode_lines, open_bytes
from transformer.text.sources.tabular import read_columns
from transformer.text.synthetic import write_nothing

STAGES = ("clean", "vocab", "tokenize")
RECIPE = "anki-fr-en"
HELD_OUT_PAIRS = 2000
# A generated pair has so many pairs of the file at most, joined by spaces.
MAX_JOINED = 4
_SAMPLE_SECONDS = 0.1
_MILLION, _GIBIBYTE = 1_000_000, 2**30
# Of a million pairs, by all stages together.
MAX_SECONDS = 60
# By pairs.
MAX_GIBIBYTES = {_MILLION: 1.0, 5 * _MILLION: 1.5}
# Of the batch plan. Three batches lie ready for a GPU; at a million target tokens a second they
# last so long.
MAX_FIRST_SECONDS, MAX_WAIT_SECONDS, MAX_PLAN_GIBIBYTES = 60, 0.07, 2.0
# What is told of on paper.
PAPER_PAIRS, PAPER_NODES = (10**8, 10**10), (1, 8, 64)
# How much slower than in proportion a larger corpus may be.
MAX_GROWTH = {5 * _MILLION: 1.0, 20 * _MILLION: 1.15}


@dataclass(frozen=True)
class Run:
    """One stage on one corpus."""

    num_pairs: int
    stage: str
    seconds: float
    cpu_seconds: float
    # Of these, what the stage's first process took, which more workers don't share.
    serial_seconds: float
    # Of what it left in the project's folder.
    written_bytes: int
    # At the worst moment, of all processes together; what they share counts once.
    peak_bytes: int


def main(
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentence pairs, tab-separated, such as fra.txt; or gzipped."),
    ] = None,
    source_column: Annotated[int, typer.Option(min=1)] = 2,
    target_column: Annotated[int, typer.Option(min=1)] = 1,
    num_pairs: Annotated[str, typer.Option(help="Sizes of corpora.")] = "1000000,5000000",
    plan: Annotated[
        int | None, typer.Option(min=1, help="Also plan training's batches of so many pairs.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is joined.")] = 1,
    peers: Annotated[
        bool, typer.Option(help="Also the filters of OpusFilter and datatrove beside ours.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(help="For the corpora, while they are measured.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Markdown; beside it JSON.")] = None,
) -> None:
    """Run clean, vocab and tokenize on corpora of sentences joined at random."""
    if sentences is None and plan is None:
        raise ValueError("nothing to measure; give --sentences, --plan, or both")
    parts: list[str] = []
    verdicts: list[Verdict] = []
    runs: list[Run] = []
    beside: list[text_peers.PeerRun] = []
    plans: list[PlanRun] = []
    if sentences is not None:
        with open_bytes(sentences) as file:
            lines = decode_lines(file, str(sentences))
            rows = read_columns(lines, str(sentences), source_column, target_column)
            pairs = [(row[0], row[1]) for row in rows]
        for size in numbers(num_pairs, "--num-pairs"):
            some, others = measure_stages(pairs, size, seed, folder, peers=peers)
            runs, beside = runs + some, beside + others
        parts += [
            f"Each pair is 1 to {MAX_JOINED} of the {len(pairs)} pairs of `{sentences.name}`, "
            f"joined at random; the recipe is `{RECIPE}`.",
            _table(runs),
            _paper(runs),
            *([text_peers.table(beside)] if beside else []),
        ]
        verdicts += judge_runs(runs)
    if plan is not None:
        with tempfile.TemporaryDirectory(prefix="plan-", dir=folder) as temporary:
            tell(f"{plan} pairs: planning batches")
            plans = measure_plan(Path(temporary) / "ids", plan, seed)
        parts += [
            f"Batches of {BATCH_TOKENS:,} tokens of {plan:,} pairs with the lengths of news text:",
            _plan_table(plans),
        ]
        verdicts += judge_plans(plans)
    page = write_page("Text stages", "text", [*parts, describe_run()], verdicts)
    typer.echo(page)
    facts = {
        "recipe": RECIPE,
        "peers": [asdict(one) for one in beside],
        "plans": [asdict(one) for one in plans],
    }
    save_page(output, page, write_record(facts, "runs", [asdict(run) for run in runs]))


def measure_stages(
    pairs: Sequence[Pair], num_pairs: int, seed: int, folder: Path | None, *, peers: bool
) -> tuple[list[Run], list[text_peers.PeerRun]]:
    """Runs the stages, and the peers, on a corpus of so many pairs that is made in `folder`.

    Raises:
        ValueError: one failed.
    """
    runs: list[Run] = []
    beside: list[text_peers.PeerRun] = []
    with tempfile.TemporaryDirectory(prefix="text-", dir=folder) as temporary:
        project = Path(temporary)
        tell(f"{num_pairs} pairs: making them")
        write_corpus(project / "data/raw", pairs, num_pairs, seed)
        write_nothing(project / "data/synthetic")
        _run_command(project, "recipe", RECIPE)
        for stage in STAGES:
            runs.append(measure(project, stage, num_pairs))
            tell(f"{num_pairs} pairs: {stage} {runs[-1].seconds:.1f} s")
        for one in _run_peers(project, num_pairs) if peers else ():
            beside.append(one)
            tell(f"{num_pairs} pairs, {one.task}: {one.engine} {one.seconds:.1f} s")
    return runs, beside


def write_corpus(folder: Path, pairs: Sequence[Pair], num_pairs: int, seed: int) -> None:
    """Writes data/raw: so many training pairs, and two small held-out parts."""
    folder.mkdir(parents=True)
    random = Random(seed)
    for part in PARTS:
        count = num_pairs if part == "train" else HELD_OUT_PAIRS
        write_pairs(part_path(folder, part), join_pairs(pairs, count, random))
    write_hashes(folder)


def join_pairs(pairs: Sequence[Pair], count: int, random: Random) -> Iterator[Pair]:
    """Pairs that are 1 to `MAX_JOINED` of the given ones, both sides in the same order."""
    for _ in range(count):
        sources, targets = zip(*random.choices(pairs, k=random.randint(1, MAX_JOINED)), strict=True)
        yield " ".join(sources), " ".join(targets)


def measure(project: Path, stage: str, num_pairs: int) -> Run:
    """Runs a stage as a user does, in a process of its own.

    Raises:
        ValueError: it failed.
    """
    return _measure(_command(stage), project, stage, num_pairs)


def _run_peers(project: Path, size: int) -> Iterator[text_peers.PeerRun]:
    def measure(command: Sequence[str], folder: Path) -> Run:
        return _measure(command, folder, Path(command[0]).name, size)

    clean, recipe = _command("clean"), _command("recipe", RECIPE)
    return text_peers.run_peers(project, size, clean, recipe, measure)


def _measure(command: Sequence[str], folder: Path, what: str, num_pairs: int) -> Run:
    bytes_before = _size(folder)
    before = os.times()
    start = time.perf_counter()
    process = _start(folder, command)
    peak, serial = 0, 0.0
    while process.poll() is None:
        peak = max(peak, _memory(process.pid))
        with suppress(psutil.Error):
            times = psutil.Process(process.pid).cpu_times()
            serial = max(serial, times.user + times.system)
        time.sleep(_SAMPLE_SECONDS)
    seconds = time.perf_counter() - start
    after = os.times()
    _check(process, what)
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Run(num_pairs, what, seconds, cpu, serial, _size(folder) - bytes_before, peak)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _memory(pid: int) -> int:
    # Of a process and all that it started, in bytes: each one's share of what several have.
    total = 0
    with suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.Error):
                found = process.memory_full_info()
                total += getattr(found, "pss", found.rss)
    return total


def _run_command(project: Path, *arguments: str) -> None:
    process = _start(project, _command(*arguments))
    process.wait()
    _check(process, arguments[0])


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pipeline", *arguments]


def _start(folder: Path, command: Sequence[str]) -> subprocess.Popen[bytes]:
    quiet = {"TQDM_DISABLE": "1", "LOGURU_LEVEL": "ERROR"}  # peers draw bars and tell each step
    return subprocess.Popen(
        command, cwd=folder, env=project_environment() | quiet, stdout=subprocess.DEVNULL
    )


def _check(process: subprocess.Popen[bytes], what: str) -> None:
    if process.returncode:
        raise ValueError(f"`{what}` ended with status {process.returncode}; see above")


def _table(runs: Sequence[Run]) -> str:
    cores = count_cores()
    rows = [
        [
            f"{one.num_pairs:,}",
            one.stage,
            f"{one.seconds:.1f}",
            f"{one.num_pairs / one.seconds:,.0f}",
            f"{one.cpu_seconds / one.seconds / cores:.0%}",
            f"{one.peak_bytes / _GIBIBYTE:.2f}",
        ]
        for size, total in _totals(runs).items()
        for one in [*(run for run in runs if run.num_pairs == size), total]
    ]
    header = ["pairs", "stage", "seconds", "pairs/s", f"use of {cores} cores", "GiB at most"]
    return markdown_table(header, rows, num_text_columns=2)


def _totals(runs: Sequence[Run]) -> dict[int, Run]:
    # Of all stages, by the number of pairs.
    totals = {}
    for size in sorted({run.num_pairs for run in runs}):
        found = [run for run in runs if run.num_pairs == size]
        totals[size] = Run(
            size,
            "all",
            sum(run.seconds for run in found),
            sum(run.cpu_seconds for run in found),
            sum(run.serial_seconds for run in found),
            sum(run.written_bytes for run in found),
            max(run.peak_bytes for run in found),
        )
    return totals


def _paper(runs: Sequence[Run]) -> str:
    # From the largest corpus: as if what the first process does were never done beside its workers.
    total = max(_totals(runs).values(), key=lambda one: one.num_pairs)
    cores = count_cores()
    rows = []
    for num_pairs in PAPER_PAIRS:
        scale = num_pairs / total.num_pairs / 3600
        shared = total.cpu_seconds - total.serial_seconds
        hours = [scale * (total.serial_seconds + shared / nodes / cores) for nodes in PAPER_NODES]
        gigabytes = num_pairs / total.num_pairs * total.written_bytes / 1e9
        rows.append([f"{num_pairs:,}", *(f"{one:.1f}" for one in hours), f"{gigabytes:,.0f}"])
    header = ["pairs", *(f"hours, {nodes} nodes" for nodes in PAPER_NODES), "GB written"]
    return (
        f"On paper, from the {total.num_pairs:,} pairs above, on nodes of {cores} such cores; the "
        f"{total.serial_seconds / total.cpu_seconds:.0%} of the CPU time that each stage's first "
        "process takes stay on one node:\n\n" + markdown_table(header, rows, num_text_columns=1)
    )


def _plan_table(runs: Sequence[PlanRun]) -> str:
    rows = [
        [
            run.start,
            f"{run.seconds_to_first_batch:.1f}",
            f"{run.mean_wait * 1000:.1f}",
            f"{run.longest_wait * 1000:.0f}",
            f"{run.peak_bytes / _GIBIBYTE:.2f}",
        ]
        for run in runs
    ]
    header = ["start", "seconds to the first batch", "ms a batch", "ms, the longest", "GiB at most"]
    return markdown_table(header, rows, num_text_columns=1)


def judge_plans(runs: Sequence[PlanRun]) -> list[Verdict]:
    """The worse of the starts: seconds to the first batch, the longest wait for one, memory."""
    seconds = max(run.seconds_to_first_batch for run in runs)
    wait = max(run.longest_wait for run in runs)
    memory = max(run.peak_bytes for run in runs) / _GIBIBYTE
    return [
        judge("seconds to the first batch", seconds, MAX_FIRST_SECONDS, "{:.1f}", True),
        judge("seconds, longest wait for a batch", wait, MAX_WAIT_SECONDS, is_most=True),
        judge("GiB beside the mapped files", memory, MAX_PLAN_GIBIBYTES, is_most=True),
    ]


def judge_runs(runs: Sequence[Run]) -> list[Verdict]:
    """Seconds and memory of a million pairs; memory and growth of larger corpora."""
    totals = _totals(runs)
    seconds = {size: total.seconds for size, total in totals.items()}
    memory = {size: total.peak_bytes / _GIBIBYTE for size, total in totals.items()}
    growth = (
        {size: found / size * _MILLION / seconds[_MILLION] for size, found in seconds.items()}
        if _MILLION in seconds
        else {}
    )
    verdicts = [
        judge("seconds, 1,000,000 pairs", seconds.get(_MILLION), MAX_SECONDS, "{:.1f}", True)
    ]
    for size, most in MAX_GIBIBYTES.items():
        verdicts.append(judge(f"GiB, {size:,} pairs", memory.get(size), most, is_most=True))
    for size, most in MAX_GROWTH.items():
        text = f"seconds a pair, {size:,} pairs over 1,000,000"
        verdicts.append(judge(text, growth.get(size), most, is_most=True))
    return verdicts


if __name__ == "__main__":
    options.run(main)
