"""`promote`: the alias `champion` of MLflow's registry, which is what gets served."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.tracking.promotion import Contest


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
    """Make a translator the champion, if it is significantly better on the same test set."""
    from pipeline.tracking.promotion import crown, hold_contest, open_registry

    client = open_registry()
    contest = hold_contest(client, version, num_bootstrap, force=force)
    challenger, champion = contest.challenger, contest.champion
    typer.echo(_describe(contest, num_bootstrap))
    if champion is not None and champion.version == challenger.version:
        typer.echo(f"version {challenger.version} is the champion already")
    elif contest.is_won or force:
        crown(client, contest)
        typer.echo(f"version {challenger.version} is the champion now")
    else:
        assert champion is not None
        raise ValueError(
            f"version {challenger.version} is not significantly better, so version "
            f"{champion.version} stays the champion; --force moves the alias all the same"
        )


def _describe(contest: "Contest", num_bootstrap: int) -> str:
    from pipeline.tracking.promotion import describe_difference

    sides = [("champion", contest.champion), ("challenger", contest.challenger)]
    lines = [
        f"{name:<11} version {side.version}  BLEU {side.bleu:.2f} on {len(side.references)} "
        f"sentences of {side.tags['corpus']}"
        for name, side in sides
        if side is not None
    ]
    if contest.difference is not None:
        difference = describe_difference(contest.difference)
        lines.append(f"{'difference':<11} {difference} ({num_bootstrap} paired resamples)")
    return "\n".join(lines)
