"""How fast the trained model translates, beside other ways to run the same weights.

python -m benchmarks.decoding --help
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

import typer

from benchmarks.decoding.contenders import (
    DEFAULTS,
    NAMES,
    SLOW,
    Commands,
    list_variants,
    tell_versions,
)
from benchmarks.decoding.findings import Cell, DecodingFindings, cell_name, log_findings
from benchmarks.decoding.profiling import profile
from benchmarks.decoding.project import (
    ALL_BATCH_SIZE,
    Subject,
    graph_file,
    load_subject,
    plan_name,
    plan_work,
)
from benchmarks.decoding.run import find_all
from benchmarks.decoding.work import MAX_SECONDS, MIN_SECONDS, Work
from benchmarks.harness.machine import describe_gpu, describe_model, describe_run
from benchmarks.harness.options import choose, numbers, run, tell
from benchmarks.harness.report import save_page
from pipeline.paths import CHECKPOINT
from transformer.model.checkpoint import model_hash


def main(
    project: Annotated[Path, typer.Option(help="With models/, data/, params.yaml.")] = Path(),
    source: Annotated[
        Path | None, typer.Option(help="Raw text to translate.", show_default="the test part")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Its translation, line by line.", show_default="likewise")
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, help="To time, over the whole test set.")] = 200,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each figure.")] = 5,
    contenders: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated; {', '.join(NAMES)}.",
            show_default=f"all but onnx-float16; on CUDA {', '.join(DEFAULTS['cuda'])}",
        ),
    ] = None,
    batch_sizes: Annotated[str, typer.Option(help="Comma-separated.")] = "1,8,32",
    beam_sizes: Annotated[str, typer.Option(help="Comma-separated; 1 is greedy.")] = "1,4",
    threads: Annotated[str, typer.Option(help="Comma-separated.")] = "1,2",
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option(help="Of the PyTorch and ONNX contenders.")
    ] = "cpu",
    output: Annotated[
        Path | None, typer.Option(help="Markdown; every measurement goes to a JSON beside it.")
    ] = None,
    with_profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Instead, the time by operator of the ONNX contenders, with the first of the "
            "batch sizes, beam sizes and threads.",
        ),
    ] = False,
) -> None:
    """Measure decoding: speed, load time, memory, file size, BLEU, one table."""
    named = ",".join(DEFAULTS[device]) if contenders is None else contenders
    chosen = choose(named, NAMES, "--contenders")
    sizes = numbers(batch_sizes, "--batch-sizes")
    cells = [Cell(size, beam) for beam in numbers(beam_sizes, "--beam-sizes") for size in sizes]
    threads_tried = numbers(threads, "--threads")
    subject = load_subject(project, source, reference)
    for cell in cells:
        options = replace(subject.options, beam_size=cell.beam_size)
        options.check_vocabulary(subject.info.target_vocab_size)
    work = plan_work(subject, sentences, sizes)
    if with_profile:
        _print_profiles(project, subject, work, chosen, cells[0], threads_tried[0])
        return
    findings = DecodingFindings(list_variants(chosen, threads_tried), cells)
    with tempfile.TemporaryDirectory() as folder:
        work.save(Path(folder) / "work.json")
        find_all(findings, Commands(project, subject, Path(folder), device), rounds, tell)
    findings.notes += _notes(findings, project, subject, work, rounds, device)
    page = findings.page()
    typer.echo(page)
    if log_findings(findings, project, page):
        tell("logged to the model's MLflow run")
    save_page(output, page, findings.record())


def _print_profiles(
    project: Path, subject: Subject, work: Work, chosen: list[str], cell: Cell, threads: int
) -> None:
    for who in chosen:
        engine, _, precision = who.partition("-")
        if engine != "onnx":
            continue
        typer.echo(f"## {NAMES[who]}, {cell_name(cell)}\n")
        path = graph_file(project, precision)
        if not path.is_file():
            typer.echo(f"Not profiled: there is no {path}\n")
            continue
        plan = work.plans[plan_name(cell.batch_size)]
        typer.echo(profile(path, work, plan, cell.beam_size, threads) + "\n")


def _notes(
    findings: DecodingFindings,
    project: Path,
    subject: Subject,
    work: Work,
    rounds: int,
    device: str,
) -> list[str]:
    # What a reader of the table must know: model and test set, machine, what was measured.
    options, lengths = subject.options, [len(ids) for ids in work.sources if ids]
    sizes = dict.fromkeys(cell.batch_size for cell in findings.cells)
    samples = {name: sum(map(len, plan)) for name, plan in work.plans.items()}
    slow = "; ".join(NAMES[who] for who in findings.versions if who in SLOW)
    parts = ", ".join(f"{samples[plan_name(size, is_slow=True)]} at batch {size}" for size in sizes)
    return [
        f"Model {model_hash(project / CHECKPOINT)[:12]}: {describe_model(subject.info.model)}, "
        f"{subject.model.num_parameters():,} parameters, "
        f"{subject.info.target_vocab_size:,} target tokens. Test set: {len(lengths)} sentences, "
        f"{median(lengths):.0f} source tokens in the middle of them, {max(lengths)} at most.",
        describe_run(tell_versions(findings.versions)),
        f"Speeds are target tokens per second, end tokens included, medians of {rounds} "
        f"measurements of {MIN_SECONDS} to {MAX_SECONDS:g} s, on "
        f"{samples[plan_name(next(iter(sizes)))]} sentences evenly spaced "
        "over the test set; bold is a contender's best setting. "
        f"{f'The slow ones ({slow}) translate some of them: {parts}. ' if slow else ''}"
        f"BLEU is that of the whole test set at batch {ALL_BATCH_SIZE}; length penalty "
        f"{options.length_penalty:g}, patience {options.patience:g} (CTranslate2: its 1).",
        *findings.others_note(),
        "CUDA is not measured." if device == "cpu" else f"{describe_gpu()}.",
    ]


if __name__ == "__main__":
    run(main)
