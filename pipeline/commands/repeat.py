"""`repeat`: one experiment with several seeds, run by DVC's queue: mean and range."""

from dataclasses import astuple
from typing import Annotated

import typer


def repeat(
    name: Annotated[str, typer.Argument(help="Of the experiments: NAME-seed=1, NAME-seed=2, ...")],
    seeds: Annotated[int, typer.Option(min=2, help="How many: 1, 2, ...")] = 3,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set-param", "-S", metavar="KEY=VALUE", help="The same for all."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Experiments at a time.")] = 1,
) -> None:
    """Run an experiment with several seeds, and tell mean and range; what has run stays."""
    from pipeline.experiments.queueing import queue_missing, run_queue
    from pipeline.experiments.repeats import (
        describe_repeats,
        find_scored,
        plan_repeats,
        spread_figures,
    )
    from pipeline.tracking.repeats import track_repeats

    points = plan_repeats(name, changes or [], seeds)
    names = [point.name for point in points]
    queued = queue_missing(points)
    typer.echo(f"{seeds} seeds, {len(queued.now)} of them queued now")
    if queued.waiting:
        run_queue(jobs)
    found = find_scored(names)
    if missing := sorted(set(names) - {one.name for one in found}):
        typer.echo(
            f"\nwithout a score: {', '.join(missing)}; `dvc queue logs NAME` says what went wrong, "
            "and the same command tries again"
        )
        raise typer.Exit(1)
    spreads = spread_figures(found)
    typer.echo(f"\n{describe_repeats(found, spreads)}")
    track_repeats(name, names, {key: astuple(spread) for key, spread in spreads.items()})
