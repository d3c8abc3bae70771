"""`compare`: two trained models side by side."""

from typing import Annotated

import typer

_NAME = (
    "A commit, branch, DVC experiment, what `repeat` was told, `workspace`, or an MLflow run's id "
    "or name."
)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_NAME)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same; held against A.")] = "workspace",
    num_sentences: Annotated[
        int, typer.Option(min=0, help="Of the sentences that gain most, and that lose most.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what differs between two models: params, scores, sentences, and whether by chance."""
    import json
    import shutil

    from pipeline.experiments.comparison import compare as compare_results
    from pipeline.experiments.comparison_report import describe_comparison, list_comparison
    from pipeline.experiments.lookup import find_seeds
    from pipeline.experiments.seeds_comparison import compare_seeds
    from pipeline.experiments.seeds_report import describe_seeds, list_seeds

    sides = find_seeds(a), find_seeds(b)
    if any(len(side) > 1 for side in sides):
        seeds = compare_seeds(*sides)
        values = list_seeds(seeds, (a, b))
        typer.echo(json.dumps(values, indent=2) if as_json else describe_seeds(seeds, (a, b)))
        return
    comparison = compare_results(*(side[0] for side in sides))
    if as_json:
        values = list_comparison(comparison, num_sentences)
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size().columns
        typer.echo(describe_comparison(comparison, num_sentences, width))
