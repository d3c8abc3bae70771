"""`teacher`: an exported translator put where `synthesize` finds it."""

from typing import Annotated

import typer


def teacher(
    translator: Annotated[
        str,
        typer.Argument(
            help="An exported translator's folder, a project's, or models:/NAME@ALIAS of the "
            "registry."
        ),
    ],
) -> None:
    """Copy a translator that shall make training pairs: data/teacher."""
    from pipeline.finished_translator import put_translator
    from pipeline.paths import TEACHER

    card = put_translator(translator, TEACHER)
    typer.echo(
        f"{card.source_language} to {card.target_language}, model {card.model_hash[:12]}, trained "
        f"on {card.corpus.name} ({card.corpus.license}), {', '.join(card.precisions)} -> {TEACHER}"
    )
