"""`affected`: which stages a change would run."""

from typing import Annotated

import typer


def affected(
    changes: Annotated[
        list[str],
        typer.Option("--set-param", "-S", metavar="KEY=VALUE", help="As `dvc exp run` takes it."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell which stages a change would run, before running it; changes nothing."""
    import json

    from pipeline.experiments.affected_report import describe_forecasts, list_forecasts
    from pipeline.experiments.affected_stages import forecast_stages
    from pipeline.experiments.changed_params import changed_params, list_changes, open_project
    from pipeline.params import read_params
    from pipeline.paths import PARAMS

    with changed_params(changes) as path:
        params = list_changes(read_params(), read_params(path))
        with open_project(PARAMS.absolute()) as repo:
            without = forecast_stages(repo)
        with open_project(path) as repo:
            forecasts = forecast_stages(repo)
    if as_json:
        typer.echo(json.dumps(list_forecasts(params, forecasts, without), indent=2))
    else:
        typer.echo(describe_forecasts(params, forecasts, without))
