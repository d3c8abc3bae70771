"""How long a training takes to reach a BLEU score, with our trainer and with a plain loop.

python -m benchmarks.time_to_quality --help
"""

import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.harness.machine import describe_commit, describe_machine
from benchmarks.time_to_quality.table import QualityRun, as_json, write_report
from benchmarks.time_to_quality.training import LOOPS, RECIPES, train_to
from transformer.files import atomic_write
from transformer.threads import bound_spinning


def main(
    project: Annotated[
        Path, typer.Option(help="With data/raw, data/clean, data/ids, models/tokenizer.")
    ] = Path(),
    recipes: Annotated[
        str, typer.Option(help=f"Comma-separated; {', '.join(RECIPES)}.")
    ] = ",".join(RECIPES),
    loops: Annotated[str, typer.Option(help=f"Comma-separated; {', '.join(LOOPS)}.")] = ",".join(
        LOOPS
    ),
    bleu: Annotated[float, typer.Option(help="Cased, greedy, to be reached.")] = 32.0,
    threads: Annotated[int, typer.Option(min=1, help="Of each training.")] = 2,
    max_minutes: Annotated[float, typer.Option(help="A training is given up after so long.")] = 30,
    output: Annotated[
        Path | None, typer.Option(help="Markdown; every score goes to a JSON beside it.")
    ] = None,
) -> None:
    """Train with the clock running; it stands still while a checkpoint is scored."""
    bound_spinning()  # as each of the project's commands does
    chosen = _choose(recipes, RECIPES, "--recipes"), _choose(loops, LOOPS, "--loops")
    runs: list[QualityRun] = []
    for recipe in chosen[0]:
        for loop in chosen[1]:
            typer.echo(f"{recipe}, {loop}", err=True)
            try:
                runs.append(_train_apart(project, recipe, loop, bleu, threads, max_minutes))
            except ValueError as error:
                raise SystemExit(f"error: {error}") from error
            typer.echo(runs[-1].summary(), err=True)
    notes = [f"{describe_machine()}; {threads} threads; {describe_commit()}."]
    report = write_report(runs, bleu, notes)
    typer.echo(report)
    if output is not None:
        for path, text in ((output, report), (output.with_suffix(".json"), as_json(runs, notes))):
            with atomic_write(path) as temporary:
                temporary.write_text(text, encoding="utf-8")


def _train_apart(
    project: Path, recipe: str, loop: str, bleu: float, threads: int, max_minutes: float
) -> QualityRun:
    # In a process of its own: settings of the allocator and of threads are the process's.
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(max_workers=1, mp_context=context) as pool,
    ):
        arguments = project, Path(folder), recipe, loop, bleu, threads, max_minutes * 60
        return pool.submit(train_to, *arguments).result()


def _choose(text: str, known: object, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    assert isinstance(known, tuple | dict)
    if unknown := sorted(set(names) - set(known)):
        raise typer.BadParameter(
            f"{', '.join(unknown)}: allowed are {', '.join(known)}", param_hint=option
        )
    return names


if __name__ == "__main__":
    typer.run(main)
