"""How fast the trained model translates, beside other ways to run the same weights.

python -m benchmarks.decoding --help
"""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.decoding.commands import Commands
from benchmarks.decoding.contenders import DEFAULTS, NAMES, list_variants
from benchmarks.decoding.findings import Findings, write_report
from benchmarks.decoding.mlflow_log import log_findings
from benchmarks.decoding.notes import write_notes
from benchmarks.decoding.profiling import profile
from benchmarks.decoding.project import (
    Project,
    Subject,
    graph_file,
    load_subject,
    plan_name,
    plan_work,
)
from benchmarks.decoding.run import find_all
from benchmarks.decoding.sampling import Cell
from benchmarks.decoding.targets import beam_name
from benchmarks.decoding.work import Work
from benchmarks.harness.report import as_json
from transformer.files import atomic_write


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
    names = DEFAULTS[device] if contenders is None else contenders.split(",")
    chosen = [name.strip() for name in names]
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        raise typer.BadParameter(
            f"{', '.join(unknown)}: allowed are {', '.join(NAMES)}", param_hint="--contenders"
        )
    sizes = _numbers(batch_sizes, "--batch-sizes")
    cells = [Cell(size, beam) for beam in _numbers(beam_sizes, "--beam-sizes") for size in sizes]
    threads_tried = _numbers(threads, "--threads")
    try:
        place = Project(project)
        subject = load_subject(place, source, reference)
        for cell in cells:
            subject.search.model_copy(update={"beam_size": cell.beam_size}).check_vocabulary(
                subject.info.target_vocab_size
            )
        work = plan_work(subject, sentences, sizes)
        if with_profile:
            _print_profiles(place, subject, work, chosen, cells[0], threads_tried[0])
            return
        findings = Findings(cells, list_variants(chosen, threads_tried))
        with tempfile.TemporaryDirectory() as folder:
            work.save(Path(folder) / "work.json")
            commands = Commands(place, subject, Path(folder), device)
            find_all(findings, commands, rounds, _tell)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error
    findings.notes += write_notes(findings, place, subject, work, rounds, device)
    report = write_report(findings)
    typer.echo(report)
    if log_findings(findings, place, report):
        _tell("logged to the model's MLflow run")
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(report, encoding="utf-8")
        with atomic_write(output.with_suffix(".json")) as temporary:
            temporary.write_text(as_json(findings), encoding="utf-8")


def _print_profiles(
    project: Project, subject: Subject, work: Work, chosen: list[str], cell: Cell, threads: int
) -> None:
    for who in chosen:
        engine, _, precision = who.partition("-")
        if engine != "onnx":
            continue
        typer.echo(f"## {NAMES[who]}, batch {cell.batch_size}, {beam_name(cell.beam_size)}\n")
        path = graph_file(project.translator, precision)
        if not path.is_file():
            typer.echo(f"Not profiled: there is no {path}\n")
            continue
        plan = work.plans[plan_name(cell.batch_size)]
        typer.echo(profile(path, subject.marks, work, plan, cell.beam_size, threads) + "\n")


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or len(set(numbers)) < len(numbers):
        raise typer.BadParameter(
            f"{text!r}: write different numbers from 1, such as 1,8,32", param_hint=option
        )
    return numbers


def _tell(text: str) -> None:
    typer.echo(text, err=True)


if __name__ == "__main__":
    typer.run(main)
