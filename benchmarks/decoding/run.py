"""One run of the benchmark: workers in turn, from their start to the last measurement."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.decoding.contenders import SLOW, Commands, file_bytes
from benchmarks.decoding.findings import Cell, DecodingFindings, beam_name
from benchmarks.decoding.project import ALL, Subject, plan_name
from benchmarks.harness.environment import ROOT, UnavailableError
from benchmarks.harness.rounds import Variant
from benchmarks.harness.workers import Worker
from pipeline.paths import TRANSLATOR
from transformer.evaluation.scores import score_bleu

# What the others' translations are held against.
REFERENCE = "pytorch"


def find_all(
    findings: DecodingFindings, commands: Commands, rounds: int, report: Callable[[str], None]
) -> None:
    """Fills in the findings: every worker is started, translates the test set, is measured.

    Args:
        findings: with cells and variants; what can't be had leaves a reason there.
        commands: how the workers start.
        rounds: measurements of each figure.
        report: is told what goes on.
    """
    workers: dict[Variant, Worker] = {}

    def ask(variant: Variant, cell: Cell) -> dict[str, Any] | None:
        if cell.batch_size < variant.num_workers:  # too small a batch to share
            return None
        plan = plan_name(cell.batch_size, variant.contender in SLOW)
        return workers[variant].ask("measure", plan=plan, beam_size=cell.beam_size)

    with ExitStack() as stack:
        for round_index in range(rounds):
            report(f"start {round_index + 1} of {rounds}")
            for variant in findings.variants:
                worker = findings.start(variant, partial(commands.command, variant))
                if worker is None:
                    continue
                greeting, who = worker.greeting, variant.contender
                seconds = greeting["load_seconds"], greeting["session_seconds"]
                findings.loads.setdefault(variant, []).append(seconds)
                findings.file_bytes[who] = file_bytes(commands.model_path(who))
                if round_index == rounds - 1:
                    workers[variant] = stack.enter_context(worker)
                else:
                    worker.close()
        _judge_quality(findings, commands.subject, workers, report)
        findings.measure(list(workers), findings.cells, rounds, ask, report)
    report("cold start")
    sentence = next(text for text in commands.subject.sources if text)
    try:
        times = time_cold_starts(commands.project / TRANSLATOR, sentence, rounds)
        findings.cold_start_seconds = list(times)
    except UnavailableError as error:
        findings.reasons["cold start"] = str(error)


def time_cold_starts(translator: Path, sentence: str, count: int) -> Iterator[float]:
    """How long a user waits for the first translation of the command line, again and again.

    Args:
        translator: an exported translator's folder.
        sentence: what it translates.
        count: how many processes, one after another.

    Yields:
        Seconds from the start of a process to its first line of output.

    Raises:
        UnavailableError: the command failed.
    """
    command = [sys.executable, "-m", "pipeline", "translate"]
    command += ["--model", str(translator.resolve()), "--", sentence]
    for _ in range(count):
        started = time.perf_counter()
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            seconds = time.perf_counter() - started
            _, errors = process.communicate()
        if not line or process.returncode:
            said = errors.strip().splitlines()[-1:]
            raise UnavailableError(f"`python -m pipeline translate` failed: {said}")
        yield seconds


def _judge_quality(
    findings: DecodingFindings,
    subject: Subject,
    workers: dict[Variant, Worker],
    report: Callable[[str], None],
) -> None:
    # Each contender's whole test set, with the most threads, side by side where it knows that:
    # threads that wait for one another may be very slow, and change no translation.
    order = sorted(workers, key=lambda variant: (variant.num_threads, variant.num_workers))
    chosen = {variant.contender: workers[variant] for variant in order}
    for beam_size in findings.beam_sizes:
        found: dict[str, list[list[int]]] = {}
        for who, worker in chosen.items():
            report(f"test set, {beam_name(beam_size)}, {who}")
            try:
                answer = worker.ask("translate", plan=ALL, beam_size=beam_size)
            except UnavailableError as error:
                findings.reasons[who] = str(error)
                continue
            found[who] = answer["targets"]
            texts = [subject.target_tokenizer.decode(ids) for ids in found[who]]
            findings.bleu[who, beam_size] = score_bleu(
                texts, subject.references, bleu_tokenizer=subject.bleu_tokenizer
            )
        for who, targets in found.items():
            if REFERENCE in found and who != REFERENCE:
                equal = sum(map(list.__eq__, targets, found[REFERENCE]))
                findings.equal_share[who, beam_size] = equal / len(targets)
