"""`promote`: the alias `champion` of MLflow's registry, which is what gets served."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.tracking.promotion import ChampionComparison


def promote(
    version: Annotated[
        str | None, typer.Option(help="Of the registry.", show_default="models/translator's")
    ] = None,
    num_bootstrap: Annotated[
        int, typer.Option(min=40, help="Paired resamples of the test set.")
    ] = 1000,
    force: Annotated[
        bool, typer.Option("--force", help="Also if it is no better, or can't be compared.")
    ] = False,
) -> None:
    """Make a translator the champion, if it is significantly better on the same test set.

    And significantly worse on none of `evaluate.sets`.
    """
    from pipeline.tracking.backend import require_client
    from pipeline.tracking.further_sets import compare_on_sets
    from pipeline.tracking.kept_checkpoint import keep_checkpoint
    from pipeline.tracking.promotion import (
        compare_with_champion,
        describe_difference,
        make_champion,
    )

    client = require_client()
    comparison = compare_with_champion(client, version, num_bootstrap, force=force)
    challenger, champion = comparison.challenger, comparison.champion
    typer.echo(_describe(comparison, num_bootstrap))
    on_sets = {} if force else compare_on_sets(comparison, num_bootstrap)
    for name, difference in on_sets.items():
        typer.echo(f"{name:<11} {describe_difference(difference)}")
    worse = [name for name, difference in on_sets.items() if difference.high < 0]
    if champion is not None and champion.version == challenger.version:
        typer.echo(f"version {challenger.version} is the champion already")
    elif comparison.is_better and worse:
        raise ValueError(
            f"version {challenger.version} is significantly worse on {', '.join(worse)}, of "
            f"evaluate.sets, so version {champion.version if champion else None} stays the "
            "champion; --force moves the alias all the same"
        )
    elif comparison.is_better or force:
        make_champion(client, comparison)
        typer.echo(f"version {challenger.version} is the champion now")
        if not keep_checkpoint(client, challenger.version):
            typer.echo("models/checkpoint is another model's: its weights are not kept beside it")
    else:
        assert champion is not None
        raise ValueError(
            f"version {challenger.version} is not significantly better, so version "
            f"{champion.version} stays the champion; --force moves the alias all the same"
        )


def _describe(comparison: "ChampionComparison", num_bootstrap: int) -> str:
    from pipeline.tracking.promotion import describe_difference

    sides = [("champion", comparison.champion), ("challenger", comparison.challenger)]
    lines = [
        f"{name:<11} version {side.version}  BLEU {side.bleu:.2f} ({side.tags['precision']}) on "
        f"{len(side.references)} sentences of {side.tags['corpus']}"
        for name, side in sides
        if side is not None
    ]
    if comparison.difference is not None:
        difference = describe_difference(comparison.difference)
        lines.append(f"{'difference':<11} {difference} ({num_bootstrap} paired resamples)")
    return "\n".join(lines)
