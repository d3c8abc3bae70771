"""How fast models are trained, beside other ways to train the same.

python -m benchmarks.training --help
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

import typer

from benchmarks.harness.environment import Environment, UnavailableError, ensure_environment
from benchmarks.harness.machine import describe_commit, describe_gpu, describe_machine
from benchmarks.harness.workers import Worker
from benchmarks.training.findings import TrainingFindings, as_json, write_report
from benchmarks.training.measuring import measure_training
from benchmarks.training.subject import (
    SHAPES,
    TrainingSubject,
    describe,
    prepare,
    write_synthetic_ids,
    write_text,
)
from benchmarks.training.targets import HALF, NAMES, PEERS
from benchmarks.training.work import FILE
from transformer.files import atomic_write

# The peers run on our PyTorch. Joey NMT asks for an older protobuf, and does without.
PEERS_ENVIRONMENT = Environment(
    "peers",
    (
        "joeynmt==2.3.0",
        "eole==0.6.4",
        "absl-py==2.5.1",
        "configargparse==1.9.0",
        "ctranslate2==4.8.5",
        "grpcio==1.85.1",
        "markdown==3.11.3",
        "plotly==7.1.0",
        "pyonmttok==1.38.1",
        "rapidfuzz==3.14.6",
        "seaborn==0.13.2",
        "sentencepiece==0.2.3",
        "subword-nmt==0.3.8",
        "tensorboard==2.21.0",
        "tensorboard-data-server==0.7.2",
        "torch-optimi==0.3.3",
    ),
    shares_ours=True,
)
# By device. A GPU's batches are so large that few pairs would leave neighbours of other lengths,
# hence padding that no real corpus of such a size has.
NUM_SYNTHETIC_PAIRS = {"cpu": 200_000, "cuda": 2_000_000}
# Its other shapes are compiled as they come.
WARM_UPS = {"compiled": 10}
DEFAULT = [name for name in NAMES if name not in HALF]


def main(
    project: Annotated[Path, typer.Option(help="With data/ids.")] = Path(),
    synthetic: Annotated[
        int | None,
        typer.Option(min=100, help="Instead, random ids of so many pieces, as long as news."),
    ] = None,
    shape: Annotated[str, typer.Option(help=f"Of the model: {', '.join(SHAPES)}.")] = "small",
    batch_tokens: Annotated[
        int, typer.Option(min=1, help="Sentences x longest side of a batch.")
    ] = 2048,
    contenders: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(DEFAULT),
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each contender.")] = 5,
    seconds: Annotated[float, typer.Option(min=0, help="Of each measurement, at least.")] = 8.0,
    warm_up: Annotated[float, typer.Option(min=0, help="Seconds of steps before that.")] = 4.0,
    threads: Annotated[int, typer.Option(min=1, help="Of each contender.")] = 2,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="To train on.")] = "cpu",
    output: Annotated[
        Path | None, typer.Option(help="Markdown; every measurement goes to a JSON beside it.")
    ] = None,
) -> None:
    """Measure training: tokens per second, padding, FLOP utilisation, memory, one table."""
    chosen = [name.strip() for name in contenders.split(",")]
    for option, wrong, allowed in (
        ("--contenders", sorted(set(chosen) - set(NAMES)), NAMES),
        ("--shape", sorted({shape} - set(SHAPES)), SHAPES),
    ):
        if wrong:
            raise typer.BadParameter(
                f"{', '.join(wrong)}: allowed are {', '.join(allowed)}", param_hint=option
            )
    findings = TrainingFindings(chosen, device, shape)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids_folder = project / "data/ids"
        try:
            if synthetic is not None:
                ids_folder = folder / "ids"
                write_synthetic_ids(ids_folder, synthetic, NUM_SYNTHETIC_PAIRS[device])
            subject = prepare(folder, ids_folder, shape, batch_tokens, device, threads)
            find_all(findings, subject, rounds, seconds, warm_up, _tell)
        except ValueError as error:
            raise SystemExit(f"error: {error}") from error
    findings.notes += _notes(findings, subject, rounds, seconds, is_synthetic=synthetic is not None)
    report = write_report(findings)
    typer.echo(report)
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(report, encoding="utf-8")
        with atomic_write(output.with_suffix(".json")) as temporary:
            temporary.write_text(as_json(findings), encoding="utf-8")


def find_all(
    findings: TrainingFindings,
    subject: TrainingSubject,
    rounds: int,
    seconds: float,
    warm_up: float,
    report: Callable[[str], None],
) -> None:
    """Starts every contender in turn, then measures them in rounds.

    Args:
        findings: with contenders; what can't be had leaves a reason there.
        subject: what they train.
        rounds: measurements of each.
        seconds: of each measurement, at least.
        warm_up: seconds of steps before the first one.
        report: is told what goes on.
    """
    python, reasons = _prepare_peers(findings.contenders, subject, report)
    findings.reasons |= reasons
    work = str(Path(subject.work.folder) / FILE)
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for who in findings.contenders:
            if who in findings.reasons:
                continue
            report(f"start of {NAMES[who]}")
            started = time.perf_counter()
            command = [sys.executable, "-m", "benchmarks.training.worker", work, who]
            if is_peer(who):
                name, _, precision = who.partition("-")
                command = [str(python), "-m", f"benchmarks.training.{name}", work, precision]
            try:
                workers[who] = stack.enter_context(Worker(command, {}))
                workers[who].ask("measure", seconds=0)  # one step
                findings.start_seconds[who] = time.perf_counter() - started
                workers[who].ask("measure", seconds=warm_up * WARM_UPS.get(who, 1))
            except UnavailableError as error:
                findings.reasons[who] = str(error)
                workers.pop(who, None)
                continue
            findings.versions[who] = workers[who].greeting["version"]
            findings.precisions[who] = workers[who].greeting["precision"]
        peaks = _start_peaks(stack, workers, findings.precisions, work)
        found, failed = measure_training(
            workers, peaks, subject.model, subject.vocab_size, rounds, seconds, report
        )
        findings.measurements = found
        findings.reasons |= failed
        for who in workers.keys() - failed.keys():
            findings.peak_bytes[who] = workers[who].ask("measure", seconds=0)["peak_bytes"]


def is_peer(who: str) -> bool:
    """Whether it is another toolkit, in any precision."""
    return who.partition("-")[0] in PEERS


def _prepare_peers(
    contenders: list[str], subject: TrainingSubject, report: Callable[[str], None]
) -> tuple[Path | None, dict[str, str]]:
    peers = [who for who in contenders if is_peer(who)]
    if not peers:
        return None, {}
    report("environment of the peers")
    try:
        python = ensure_environment(PEERS_ENVIRONMENT)
    except UnavailableError as error:
        return None, dict.fromkeys(peers, str(error))
    write_text(subject)
    return python, {}


def _start_peaks(
    stack: ExitStack, workers: Mapping[str, Worker], precisions: Mapping[str, str], work: str
) -> dict[str, Worker]:
    # In the precision of the contender's products.
    started: dict[str, Worker] = {}
    peaks = {}
    for who in workers:
        kind = f"peak-{precisions[who]}"
        if kind not in started:
            command = [sys.executable, "-m", "benchmarks.training.worker", work, kind]
            started[kind] = stack.enter_context(Worker(command, {}))
        peaks[who] = started[kind]
    return peaks


def _notes(
    findings: TrainingFindings,
    subject: TrainingSubject,
    rounds: int,
    seconds: float,
    is_synthetic: bool,
) -> list[str]:
    notes = [
        describe(subject),
        f"{describe_machine()}; {subject.work.num_threads} threads; {describe_commit()}.",
        "Tokens are real ones of source and target, one end mark on each side; medians of "
        f"{rounds} measurements of {seconds:g} s at least.",
    ]
    if subject.work.device == "cuda":
        notes.append(f"{describe_gpu()}.")
    if is_synthetic:
        notes.append(
            "The ids are random, by Zipf's law; their lengths are drawn like those of news text."
        )
    others = [one.others_share for one in findings.measurements if one.others_share is not None]
    if others:
        notes.append(
            f"Other processes took {median(others):.1%} of the cores during the median "
            f"measurement, {max(others):.1%} at most."
        )
    return notes


def _tell(text: str) -> None:
    typer.echo(text, err=True)


if __name__ == "__main__":
    typer.run(main)
