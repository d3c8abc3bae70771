"""How long a training takes to reach a BLEU score, with our trainer and with a plain loop.

python -m benchmarks.time_to_quality --help
"""

import multiprocessing
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import choose, run, tell
from benchmarks.harness.report import (
    Verdict,
    judge,
    markdown_table,
    save_page,
    write_page,
    write_record,
)
from benchmarks.time_to_quality.training import LOOPS, RECIPES, QualityRun, train_to
from transformer.threads import bound_spinning

MAX_MINUTES = 5.0


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
    chosen = choose(recipes, RECIPES, "--recipes"), choose(loops, LOOPS, "--loops")
    runs: list[QualityRun] = []
    for recipe in chosen[0]:
        for loop in chosen[1]:
            tell(f"{recipe}, {loop}")
            runs.append(_train_apart(project, recipe, loop, bleu, threads, max_minutes))
            tell(runs[-1].summary())
    notes = [describe_run(f"{threads} threads")]
    page = write_report(runs, bleu, notes)
    typer.echo(page)
    save_page(output, page, write_record({"notes": notes}, "runs", [asdict(run) for run in runs]))


def write_report(runs: Sequence[QualityRun], bleu: float, notes: Sequence[str]) -> str:
    """The whole page."""
    rows = [
        [
            run.recipe,
            run.loop,
            run.model,
            run.settings,
            "–" if run.reached is None else f"{run.reached.seconds / 60:.2f}",
            "–" if run.reached is None else str(run.reached.step),
            f"{run.best_bleu:.2f}",
            f"{run.tokens_per_second:,.0f}",
        ]
        for run in runs
    ]
    header = ["recipe", "loop", "model", "training", f"minutes to {bleu:g} BLEU", "steps"]
    header += ["best BLEU seen", "tokens/s"]
    table = markdown_table(header, rows, num_text_columns=4)
    return write_page("Time to quality", "time_to_quality", [*notes, table], [judge_runs(runs)])


def judge_runs(runs: Sequence[QualityRun]) -> Verdict:
    """Whether our trainer is fast enough with any recipe."""
    ours = [run for run in runs if run.loop.startswith("ours")]
    minutes = [run.reached.seconds / 60 for run in ours if run.reached]
    text = "minutes to the score, ours"
    verdict = judge(text, min(minutes, default=None), MAX_MINUTES, is_most=True)
    if ours and not minutes:
        return Verdict(text, "not reached", verdict.target, False)
    return verdict


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


if __name__ == "__main__":
    run(main)
