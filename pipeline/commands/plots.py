"""`plots`: curves as a picture, which needs neither network nor browser."""

from pathlib import Path
from typing import Annotated

import typer


def plots(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Commits, branches, DVC experiments, `workspace`, MLflow runs."),
    ] = None,
    output: Annotated[Path, typer.Option(help="The PNG file.")] = Path("dvc_plots/curves.png"),
) -> None:
    """Draw loss, perplexity, accuracy and learning rate of trainings over each other."""
    from pipeline.experiments.curves import draw_trainings, find_training

    draw_trainings([find_training(name) for name in names or ["workspace"]], output)
    typer.echo(f"-> {output}")
