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

    from pipeline.corpus_check import find_unknown_files, list_inputs
    from pipeline.experiments.changed_params import change_params
    from pipeline.experiments.forecast import Project, forecast_stages
    from pipeline.experiments.forecast_report import describe_forecasts, list_forecasts
    from pipeline.flattening import list_changes
    from pipeline.params import read_params

    now, changed = read_params(), change_params(changes)
    params = list_changes(now, changed)
    project = Project()
    forecasts, without = forecast_stages(project, changed), forecast_stages(project, now)
    if as_json:
        typer.echo(json.dumps(list_forecasts(params, forecasts, without), indent=2))
    else:
        typer.echo(describe_forecasts(params, forecasts, without))
    if unknown := find_unknown_files(list_inputs(changed)):
        typer.echo(f"note: {unknown}", err=True)
