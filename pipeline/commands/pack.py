"""`pack`: a folder that another machine trains in, without DVC, MLflow and datasets."""

from pathlib import Path
from typing import Annotated

import typer


def pack(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    part_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="MIB", help="An archive in parts of at most so many MiB."),
    ] = None,
) -> None:
    """Write what `train` and `evaluate` need on another machine; `adopt` takes the results back."""
    from pipeline.elsewhere.packing import ARCHIVE, pack_parts, pack_project, require_level
    from pipeline.experiments.forecast import Project, forecast_stages
    from pipeline.params import read_params

    require_level(forecast_stages(Project(), read_params()))
    if part_size is None:
        pack_project(Path(), folder)
        steps = []
    else:
        pack_parts(Path(), folder, part_size)
        steps = [f"cat {ARCHIVE}.* | tar xz && cd project"]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    steps += [
        "sha256sum --check --quiet SHA256SUMS && pip install -r requirements.txt",
        "python -m pipeline train && python -m pipeline evaluate",
    ]
    typer.echo(f"{size / 2**20:.1f} MiB -> {folder}\nThere, in a copy of that folder:")
    typer.echo("\n".join(f"  {step}" for step in steps))
    typer.echo("Here, when it is back: python -m pipeline adopt FOLDER")
