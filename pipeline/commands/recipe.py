"""`recipe`: params files by name, each a base with named differences."""

from typing import Annotated

import typer


def recipe(
    name: Annotated[str | None, typer.Argument(help="The recipe to write; none lists all.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value; VALUE is YAML."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite params.yaml edited by hand.")] = False,
) -> None:
    """List the recipes, or write one of them as params.yaml."""
    from pipeline.paths import PARAMS
    from pipeline.recipes import list_recipes, make_params, write_params

    if name is None:
        for recipe_name, summary in list_recipes():
            typer.echo(f"{recipe_name:24}{summary}")
        return
    text = make_params(name, changes or [])
    write_params(PARAMS, text, force=force)
    typer.echo(f"Wrote {PARAMS}: recipe {name}. `dvc repro` runs it.")
