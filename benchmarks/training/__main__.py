"""How fast models are trained, beside other ways to train the same.

python -m benchmarks.training --help
"""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.harness.machine import describe_gpu, describe_run
from benchmarks.harness.options import choose, run, tell
from benchmarks.harness.report import save_page
from benchmarks.harness.rounds import Variant
from benchmarks.training.findings import HALF, NAMES, TrainingFindings
from benchmarks.training.run import find_all
from benchmarks.training.subject import SHAPES, describe, prepare, write_synthetic_ids
from pipeline.paths import IDS

# By device. A GPU's batches are so large that few pairs would leave neighbours of other lengths,
# hence padding that no real corpus of such a size has.
NUM_SYNTHETIC_PAIRS = {"cpu": 200_000, "cuda": 2_000_000}
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
    chosen = choose(contenders, NAMES, "--contenders")
    choose(shape, SHAPES, "--shape")
    findings = TrainingFindings([Variant(who, threads) for who in chosen], device, shape)
    with tempfile.TemporaryDirectory() as name:
        folder, ids_folder = Path(name), project / IDS
        if synthetic is not None:
            ids_folder = folder / "ids"
            write_synthetic_ids(ids_folder, synthetic, NUM_SYNTHETIC_PAIRS[device])
        subject = prepare(folder, ids_folder, shape, batch_tokens, device, threads)
        find_all(findings, subject, rounds, seconds, warm_up, tell)
    findings.notes += [
        describe(subject),
        describe_run(f"{threads} threads"),
        "Tokens are real ones of source and target, one end token on each side; medians of "
        f"{rounds} measurements of {seconds:g} s at least.",
    ]
    if device == "cuda":
        findings.notes.append(f"{describe_gpu()}.")
    if synthetic is not None:
        findings.notes.append(
            "The ids are random, by Zipf's law; their lengths are drawn like those of news text."
        )
    findings.notes += findings.others_note()
    page = findings.page()
    typer.echo(page)
    save_page(output, page, findings.record())


if __name__ == "__main__":
    run(main)
