"""`adopt`: results of a packed folder taken over, as if the stages had run here."""

from pathlib import Path
from typing import Annotated

import typer


def adopt(
    folder: Annotated[Path, typer.Argument(help="What came back of a folder that `pack` wrote.")],
) -> None:
    """Take over what `train` and `evaluate` made elsewhere; refuse what does not fit."""
    from pipeline.elsewhere.adopting import adopt_results
    from pipeline.paths import CHECKPOINT
    from pipeline.tracking.runs import join_run
    from pipeline.tracking.syncing import sync_workspace
    from transformer.model.checkpoint import model_hash

    trained = adopt_results(folder)
    machine = trained.machine
    typer.echo(
        f"{CHECKPOINT} and its reports are those of {folder}, trained on {machine['device']} "
        f"with torch {machine['version.torch']}; `dvc repro` runs what comes after them"
    )
    try:
        synced = sync_workspace()
    except ValueError as error:  # as a stage, which MLflow never stops
        typer.echo(f"warning: {error}", err=True)
        return
    with join_run(model_hash(CHECKPOINT)) as tracker:
        tracker.tags(machine)
    typer.echo(f"MLflow: {synced.run_name}  run {synced.run_id}")
