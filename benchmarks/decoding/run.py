"""One run of the benchmark: workers in turn, from their start to the last measurement."""

from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.decoding.cold_start import time_cold_starts
from benchmarks.decoding.commands import Commands
from benchmarks.decoding.contenders import Variant, file_bytes
from benchmarks.decoding.findings import Findings
from benchmarks.decoding.project import ALL, Subject
from benchmarks.decoding.targets import beam_name
from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.rounds import measure_all
from benchmarks.harness.workers import Worker
from transformer.evaluation.scores import score_bleu

# What the others' translations are held against.
REFERENCE = "pytorch"


def find_all(
    findings: Findings, commands: Commands, rounds: int, report: Callable[[str], None]
) -> None:
    """Fills in the findings: every worker is started, translates the test set, is measured.

    Args:
        findings: with cells and variants; what can't be had leaves a reason there.
        commands: how the workers start.
        rounds: measurements of each figure.
        report: is told what goes on.
    """
    with ExitStack() as stack:
        workers: dict[Variant, Worker] = {}
        for round_index in range(rounds):
            report(f"start {round_index + 1} of {rounds}")
            for variant in findings.variants:
                worker = _start(findings, commands, variant)
                if worker is None:
                    continue
                if round_index == rounds - 1:
                    workers[variant] = stack.enter_context(worker)
                else:
                    worker.close()
        _judge_quality(findings, commands.subject, workers, report)
        measurements, failed = measure_all(workers, findings.cells, rounds, report)
        findings.measurements = measurements
        for variant, reason in failed.items():
            findings.reasons[variant.contender] = f"{variant.setting} threads: {reason}"
        for variant, worker in workers.items():
            if variant not in failed:
                findings.peak_bytes[variant] = worker.ask("memory")["peak_bytes"]
    report("cold start")
    sentence = next(text for text in commands.subject.sources if text)
    try:
        findings.cold_start_seconds = list(
            time_cold_starts(commands.project.translator, sentence, rounds)
        )
    except UnavailableError as error:
        findings.reasons["cold start"] = str(error)


def _start(findings: Findings, commands: Commands, variant: Variant) -> Worker | None:
    who = variant.contender
    if who in findings.reasons:
        return None
    try:
        worker = Worker(commands.command(variant), variant.environment)
        findings.file_bytes[who] = file_bytes(commands.model_path(who))
    except UnavailableError as error:
        findings.reasons[who] = str(error)
        return None
    greeting = worker.greeting
    seconds = greeting["load_seconds"], greeting["session_seconds"]
    findings.loads.setdefault(variant, []).append(seconds)
    findings.versions[who] = greeting["version"]
    return worker


def _judge_quality(
    findings: Findings,
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
