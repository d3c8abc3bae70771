"""`check`: the whole params file, every problem at once."""

import typer


def check() -> None:
    """Validate params.yaml as a whole."""
    from pipeline.paths import PARAMS
    from pipeline.schema import check_params

    check_params(PARAMS)
    typer.echo(f"{PARAMS} is right.")
