"""`sweep`: a grid of experiments, run by DVC's queue, with a picture of what came out."""

from pathlib import Path
from typing import Annotated

import typer


def sweep(
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set-param",
            "-S",
            metavar="KEY=VALUE[,VALUE]",
            help="Several values: an axis of the grid, of which there may be two. One: for all.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Experiments at a time.")] = 1,
    output: Annotated[Path, typer.Option(help="The PNG file.")] = Path("dvc_plots/sweep.png"),
) -> None:
    """Queue and run a grid, learning rate x dropout by default; what has run is not run again."""
    from pipeline.experiments.grid import parse_grid
    from pipeline.experiments.queueing import list_experiments, queue_missing, run_queue
    from pipeline.experiments.sweep_picture import draw_sweep
    from pipeline.experiments.sweep_report import collect_scores, describe_sweep

    grid = parse_grid(changes or [])
    points = grid.points()
    queued = queue_missing(points)
    typer.echo(f"{len(points)} experiments, {len(queued.now)} of them queued now")
    if grid.fixed:
        typer.echo(f"{grid.sweep} in their names is {', '.join(grid.fixed)}")
    if queued.waiting:
        run_queue(jobs)
    rows = list_experiments()
    scores = collect_scores(points, rows)
    draw_sweep(grid, scores, output)
    typer.echo(f"\n{describe_sweep(points, rows, scores)}\n-> {output}")
    if len(scores) < len(points):
        raise typer.Exit(1)
